// SPDX-License-Identifier: MIT
#include "results.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "repdl/error.h"

namespace repdl::prove {
namespace {

/// Names of processors and compilers hold nothing else that JSON would escape.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

/// The beginning of a line, which says what it is about.
std::string Subject(const Result& result) {
  return "{\"function\": " + Quoted(result.function) + ", \"dtype\": " + Quoted(result.dtype) +
         ", \"target\": " + Quoted(result.target) + ", ";
}

std::string Today() {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  char text[16];
  std::snprintf(text, sizeof text, "%d-%02u-%02u", int{day.year()}, unsigned{day.month()}, unsigned{day.day()});
  return text;
}

std::string Rest(const Result& result) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", result.seconds);
  return "\"tried\": " + Quoted(result.tried) + ", \"inputs\": " + std::to_string(result.inputs) +
         ", \"wrong\": " + std::to_string(result.wrong) + ", \"seconds\": " + seconds +
         ", \"compiler\": " + Quoted(result.compiler) + ", \"processor\": " + Quoted(result.processor) +
         ", \"commit\": " + Quoted(result.commit) + ", \"date\": " + Quoted(Today()) +
         (result.command.empty() ? "" : ", \"command\": " + Quoted(result.command)) + "}";
}

}  // namespace

void Record(const std::string& path, const Result& result) {
  std::map<std::string, std::string> lines;  // by their subject
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find("\"tried\"");
    if (at == std::string::npos) throw ValueError(Message(path, " holds a line that is no result: ", line));
    lines[line.substr(0, at)] = line.substr(at);
  }
  file.close();
  lines[Subject(result)] = Rest(result);
  // Whoever reads the file meanwhile sees the old one or the new one.
  const std::string unfinished = path + ".new";
  std::ofstream out(unfinished);
  for (const auto& [subject, rest] : lines) out << subject << rest << '\n';
  out.close();
  if (!out) throw ValueError(Message("cannot write ", unfinished));
  std::filesystem::rename(unfinished, path);
}

}  // namespace repdl::prove
