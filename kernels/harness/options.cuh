// The command line of a rung's program: a mode, the ladder's own parameters, and how often to run.
// In: argv and the parameters with their defaults. Refuses what it does not know with exit code 2.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "failure.cuh"

namespace harness {

// One parameter of the workload: `--n 4096`.
struct Parameter {
    const char* name;
    uint64_t value;
    uint64_t low = 1, high = 2147483647;
};

struct Options {
    std::string mode;
    std::vector<Parameter> parameters;
    int repeats = 20, launches = 1, warmup = 5;
    uint64_t seed = 0;
    bool json = false;

    uint64_t operator[](const char* name) const {
        for (const Parameter& parameter : parameters)
            if (std::string(parameter.name) == name) return parameter.value;
        fail(USAGE, "this program has no parameter %s", name);
    }
};

inline uint64_t parse_number(const char* flag, const char* text, uint64_t low, uint64_t high) {
    char* end = nullptr;
    errno = 0;
    const bool digits = text && *text >= '0' && *text <= '9';
    const uint64_t value = digits ? std::strtoull(text, &end, 10) : 0;
    if (!digits || *end || errno == ERANGE || value < low || value > high)
        fail(USAGE, "%s wants a whole number from %llu to %llu, not '%s'", flag, (unsigned long long)low,
             (unsigned long long)high, text ? text : "");
    return value;
}

inline void print_usage(const char* program, const Options& options) {
    std::printf("usage: %s --mode check|time|profile|repeat", program);
    for (const Parameter& parameter : options.parameters) std::printf(" [--%s N]", parameter.name);
    std::printf(" [--repeats R] [--launches L] [--warmup W] [--seed S] [--json]\n"
                "  check    compare the result with a higher-precision reference on random inputs, outputs poisoned beforehand\n"
                "  time     R repeats, each with a cold L2, interleaved with the reference\n"
                "  profile  W launches, then exactly L launches between cudaProfilerStart and cudaProfilerStop\n"
                "  repeat   L launches on poisoned outputs, each of which must leave the same bits as the first\n"
                "  defaults:");
    for (const Parameter& parameter : options.parameters)
        std::printf(" %s = %llu,", parameter.name, (unsigned long long)parameter.value);
    std::printf(" R = %d, L = %d, W = %d, S drawn fresh\n", options.repeats, options.launches, options.warmup);
}

inline Options parse_options(int argc, char** argv, std::vector<Parameter> parameters) {
    Options options;
    options.parameters = std::move(parameters);
    std::random_device entropy;
    options.seed = (uint64_t(entropy()) << 32) | entropy();
    for (int i = 1; i < argc; ++i) {
        const std::string flag = argv[i];
        if (flag == "--help") {
            print_usage(argv[0], options);
            std::exit(DONE);
        }
        if (flag == "--json") {
            options.json = true;
            continue;
        }
        const char* value = i + 1 < argc ? argv[++i] : nullptr;
        const auto number = [&](uint64_t low, uint64_t high) { return parse_number(flag.c_str(), value, low, high); };
        bool known = false;
        for (Parameter& parameter : options.parameters) {
            if (flag != std::string("--") + parameter.name) continue;
            parameter.value = number(parameter.low, parameter.high);
            known = true;
        }
        if (known) continue;
        if (flag == "--mode") options.mode = value ? value : "";
        else if (flag == "--repeats") options.repeats = int(number(1, 1000000));
        else if (flag == "--launches") options.launches = int(number(1, 1000000));
        else if (flag == "--warmup") options.warmup = int(number(0, 1000000));
        else if (flag == "--seed") options.seed = number(0, UINT64_MAX);
        else fail(USAGE, "unknown flag '%s'; --help lists them", flag.c_str());
    }
    if (options.mode != "check" && options.mode != "time" && options.mode != "profile" && options.mode != "repeat")
        fail(USAGE, "--mode must be check, time, profile or repeat, not '%s'", options.mode.c_str());
    return options;
}

}  // namespace harness
