# `make demo` and `make test` do all the set-up on a fresh Debian machine with Python >= 3.11 and a C++ compiler.

PYTHON ?= python3
VENV ?= .venv
DATA ?=
BUILD := build/python
BIN := $(VENV)/bin

.PHONY: help demo test test-cpp test-python sanitize lint format golden docs bench build clean
.DEFAULT_GOAL := help

help:  ## Say what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14
