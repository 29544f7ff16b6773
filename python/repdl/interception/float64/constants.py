# SPDX-License-Identifier: MIT
"""Constants of the functions of float64, from `python tools/coefficients`, file float64.py."""

from __future__ import annotations


def _numbers(text: str) -> list[float]:
    return [float.fromhex(word) for word in text.split()]


LN2_16 = _numbers("""
    0x1.62e42fefa0000p-5 0x1.cf79abc9e3b3ap-44
""")
"""log(2) / 16, in two parts, the first of 36 digits."""

EXP2 = _numbers("""
    0x1.0000000000000p+0 0x1.0b5586cf9890fp+0 0x1.172b83c7d517bp+0 0x1.2387a6e756238p+0 0x1.306fe0a31b715p+0
    0x1.3dea64c123422p+0 0x1.4bfdad5362a27p+0 0x1.5ab07dd485429p+0 0x1.6a09e667f3bcdp+0 0x1.7a11473eb0187p+0
    0x1.8ace5422aa0dbp+0 0x1.9c49182a3f090p+0 0x1.ae89f995ad3adp+0 0x1.c199bdd85529cp+0 0x1.d5818dcfba487p+0
    0x1.ea4afa2a490dap+0 0x0.0p+0 0x1.8a62e4adc610bp-54 -0x1.19041b9d78a76p-55 0x1.9b07eb6c70573p-54
    0x1.6f46ad23182e4p-55 0x1.ada0911f09ebcp-55 0x1.d4397afec42e2p-56 0x1.6324c054647adp-54 -0x1.bdd3413b26456p-54
    -0x1.41577ee04992fp-55 0x1.6e9f156864b27p-54 0x1.c7c46b071f2bep-56 0x1.7a1cd345dcc81p-54 0x1.11065895048ddp-55
    0x1.2ed02d75b3707p-55 -0x1.e9c23179c2893p-54
""")
"""2^(j/16) for j = 0 … 15, then what the doubles leave of them."""

LN2 = _numbers("""
    0x1.62e42fefa2000p-1 0x1.9ef35793c7673p-41
""")
"""log(2), in two parts, the first of 40 digits."""

RECIPROCALS = _numbers("""
    0x1.7000000000000p+0 0x1.6800000000000p+0 0x1.6000000000000p+0 0x1.5900000000000p+0 0x1.5200000000000p+0
    0x1.4b00000000000p+0 0x1.4400000000000p+0 0x1.3e00000000000p+0 0x1.3800000000000p+0 0x1.3200000000000p+0
    0x1.2d00000000000p+0 0x1.2700000000000p+0 0x1.2200000000000p+0 0x1.1d00000000000p+0 0x1.1800000000000p+0
    0x1.1300000000000p+0 0x1.0f00000000000p+0 0x1.0a00000000000p+0 0x1.0600000000000p+0 0x1.0000000000000p+0
    0x1.0000000000000p+0 0x1.ea00000000000p-1 0x1.da00000000000p-1 0x1.ce00000000000p-1 0x1.c000000000000p-1
    0x1.b400000000000p-1 0x1.aa00000000000p-1 0x1.9e00000000000p-1 0x1.9400000000000p-1 0x1.8a00000000000p-1
    0x1.8200000000000p-1 0x1.7800000000000p-1
""")
"""For each cell of mantissas c near 1 / m."""

LOGS = _numbers("""
    -0x1.739d7f6bbd007p-2 -0x1.5d1bdbf5809cap-2 -0x1.4618bc21c5ec2p-2 -0x1.31871c9544185p-2 -0x1.1c898c16999fbp-2
    -0x1.071b85fcd590dp-2 -0x1.e27076e2af2e6p-3 -0x1.bc286742d8cd6p-3 -0x1.9525a9cf456b4p-3 -0x1.6d60fe719d21dp-3
    -0x1.4ba36f39a55e5p-3 -0x1.2266f190a5acbp-3 -0x1.fec9131dbeabbp-4 -0x1.b78c82bb0eda1p-4 -0x1.6f0d28ae56b4cp-4
    -0x1.253f62f0a1417p-4 -0x1.d276b8adb0b52p-5 -0x1.39e87b9febd60p-5 -0x1.7b91b07d5b11bp-6 0x0.0p+0 0x0.0p+0
    0x1.67c94f2d4bb58p-5 0x1.3bdf5a7d1ee64p-4 0x1.a4e7640b1bc38p-4 0x1.1178e8227e47cp-3 0x1.4913d8333b561p-3
    0x1.7898d85444c73p-3 0x1.b31d8575bce3dp-3 0x1.e530effe71012p-3 0x1.0c42d676162e3p-2 0x1.214456d0eb8d4p-2
    0x1.3c25277333184p-2 0x1.8c76ceb014b04p-56 -0x1.4236383dc7fe1p-56 -0x1.f42decdeccf1dp-56 0x1.51acc4c09b379p-60
    0x1.0e5c62aff1c44p-60 -0x1.d1707f97bde80p-58 0x1.61578001e0162p-59 -0x1.4fce744870f55p-58 -0x1.d904c1d4e2e26p-57
    0x1.caae268ecd179p-57 -0x1.68981bcc36756p-57 -0x1.f547bf1809e88p-57 0x1.5746b9981b36cp-58 -0x1.0878cf0327e21p-61
    0x1.906d99184b992p-58 0x1.c125963fc4cfdp-62 -0x1.1e3c53257fd47p-61 0x1.5bfa937f551bbp-59 0x1.5b602ace3a510p-60
    0x0.0p+0 0x0.0p+0 0x1.0413e6505e603p-59 0x1.7a976d3b5b45fp-59 -0x1.5b5ca203e4259p-58 -0x1.0e63a5f01c691p-58
    -0x1.0d5604930f135p-58 0x1.ef8f6ebcfb201p-58 -0x1.6353ab386a94dp-57 0x1.2276041f43042p-59 0x1.162c79d5d11eep-58
    0x1.f7ae91aeba60ap-57 -0x1.2ad27e50a8ec6p-56
""")
"""-log(c), then what the doubles leave."""

LOG_SCALES = _numbers("""
    0x1.71547652b82fep+0 0x1.62e42fefa39efp-1
""")
"""1 / log(2) and log(2)."""

HALF_LOG_2_PI = _numbers("""
    0x1.d67f1c864beb5p-1 -0x1.65b5a1b7ff5dfp-55
""")
"""log(2 pi) / 2, then what the double leaves."""

LOG_GAMMA = _numbers("""
    0x1.b0ee6072093cep-2 0x1.4a34cc4a60fa6p-2 -0x1.13e001a557606p-4 0x1.51322ac7d8481p-6 -0x1.e404fc218f67cp-8
    0x1.7add6eadb7240p-9 -0x1.38ac5c2bf05cep-10 0x1.0b36af85fa497p-11 -0x1.d3fd4c7f5de6cp-13 0x1.a127b11f25d33p-14
    -0x1.78de5959743dep-15 0x1.580dc4d639900p-16 -0x1.3cbd0a07704dap-17 0x1.25990eb7d21e3p-18 -0x1.11a57cbee1513p-19
    0x1.00438014a342dp-20 -0x1.e45d33963fb43p-22 0x1.cb5b60f2f224fp-23 -0x1.983c5802eebc7p-24 0x1.751e0cb5a7b68p-25
    -0x1.0cbe30a4b03ecp-25 0x1.16d873993d1bbp-26
""")
"""log(gamma(2 + t)) / t, |t| at most 1/2."""

LOG_GAMMA_REST = float.fromhex("0x1.6caa9fe93e19cp-58")
"""What the double leaves of the first coefficient of LOG_GAMMA."""
