// The program around one rung of a ladder: parses the command line, then checks, times or profiles one kernel.
// Out: results on stdout, everything else on stderr, and an exit code of failure.cuh.
// The ladder hands over a Task: its workload, its data, its reference, and how to tell right from wrong.
//
//     static std::vector<Parameter> parameters();   the workload and its defaults
//     struct Rung { const char* name; ... };        what a rung's file gives to run()
//     Task(const Options&, const Rung&);            allocates and fills; refuses shapes it cannot hold
//     const char* precision() const;
//     bool launch();                                one launch; false when this rung refuses the shape or the alignment
//     Check check();                                launches on poisoned outputs and compares
//     bool prepare_reference();                     before it is timed; false where there is none
//     const char* reference() const;                its name
//     void launch_reference();
//     Work work() const;                            of one launch
#pragma once

#include <cuda_profiler_api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "device.cuh"
#include "failure.cuh"
#include "options.cuh"

namespace harness {

struct Work {
    double amount;        // floating-point operations, or bytes, of one launch
    const char* per_ns;   // what amount / ns is called: "gflops" or "gbytes_per_s"
};

struct Check {
    double error;                      // relative, as the task defines it; not finite when it has no meaning
    double threshold;
    unsigned long long not_finite = 0; // elements of the result
    std::string wrong = {};            // what else was found wrong, in words
    int cases = 1, refused = 0;        // shapes and alignments tried, and those of them that the rung refused
    bool ok() const { return not_finite == 0 && wrong.empty() && std::isfinite(error) && error <= threshold; }
};

// Linear interpolation between the closest ranks of a sorted sample.
inline double quantile(const std::vector<double>& sorted, double q) {
    const double rank = q * double(sorted.size() - 1);
    const size_t below = size_t(rank);
    const size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (rank - double(below)) * (sorted[above] - sorted[below]);
}

template <class Task>
class Program {
  public:
    Program(const typename Task::Rung& rung, const Options& options, const cudaDeviceProp& device)
        : rung_(rung), options_(options), device_(device), task_(options, rung) {
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    int run() {
        if (options_.mode == "check") return check();
        if (options_.mode == "time") return time();
        return profile();
    }

  private:
    void launch() {
        if (!task_.launch()) fail(UNSUPPORTED, "%s refuses this shape or alignment: %s", rung_.name, shape().c_str());
        CUDA_CHECK(cudaGetLastError());
    }

    std::string shape() const {
        std::string text;
        for (const Parameter& parameter : options_.parameters)
            text += (text.empty() ? "" : " ") + std::string(parameter.name) + "=" + std::to_string(parameter.value);
        return text;
    }

    void print_identity(const char* mode) const {
        std::printf("{\"mode\":\"%s\",\"kernel\":\"%s\",\"precision\":\"%s\",\"gpu\":\"%s\"", mode, rung_.name,
                    task_.precision(), device_.name);
        for (const Parameter& parameter : options_.parameters)
            std::printf(",\"%s\":%llu", parameter.name, (unsigned long long)parameter.value);
        std::printf(",\"seed\":%llu", (unsigned long long)options_.seed);
    }

    int check() {
        const Check found = task_.check();
        CUDA_CHECK(cudaDeviceSynchronize());
        if (options_.json) {
            print_identity("check");
            if (std::isfinite(found.error)) std::printf(",\"relative_error\":%.4e", found.error);
            else std::printf(",\"relative_error\":null");
            std::printf(",\"threshold\":%.4e,\"not_finite\":%llu,\"cases\":%d,\"refused\":%d,\"ok\":%s}\n", found.threshold,
                        found.not_finite, found.cases, found.refused, found.ok() ? "true" : "false");
        } else {
            std::printf("%s %s, seed %llu: %s, relative error %.3e (at most %.3e), %llu not finite; cases %d, refused %d\n",
                        rung_.name, shape().c_str(), (unsigned long long)options_.seed, found.ok() ? "correct" : "WRONG",
                        found.error, found.threshold, found.not_finite, found.cases, found.refused);
        }
        if (!found.wrong.empty()) std::fprintf(stderr, "error: %s\n", found.wrong.c_str());
        if (found.not_finite) std::fprintf(stderr, "error: %llu elements of the result are NaN or infinite\n", found.not_finite);
        else if (!found.ok()) std::fprintf(stderr, "error: relative error %.3e; allowed is %.3e\n", found.error, found.threshold);
        return found.ok() ? DONE : MISMATCH;
    }

    // What is timed is one launch with a cold L2; the flush is queued ahead of it and so hides the launch latency.
    template <class Launch>
    double time_once_ns(ColdCache& cache, Launch launch) {
        cache.flush();
        start_.record();
        launch();
        stop_.record();
        CUDA_CHECK(cudaDeviceSynchronize());
        return stop_.ns_since(start_);
    }

    int time() {
        const bool has_reference = task_.prepare_reference();
        if (!has_reference) std::fprintf(stderr, "timing %s without a reference\n", rung_.name);
        ColdCache cache(device_);
        const auto kernel_once = [&] { return time_once_ns(cache, [&] { launch(); }); };
        const auto reference_once = [&] { return time_once_ns(cache, [&] { task_.launch_reference(); }); };
        for (int i = 0; i < options_.warmup; ++i) {
            kernel_once();
            if (has_reference) reference_once();
        }
        std::vector<double> kernel_ns, reference_ns;
        for (int i = 0; i < options_.repeats; ++i) {
            // Alternating which of the two goes first cancels what the first leaves behind: heat, clocks.
            if (has_reference && i % 2) reference_ns.push_back(reference_once());
            kernel_ns.push_back(kernel_once());
            if (has_reference && i % 2 == 0) reference_ns.push_back(reference_once());
            if (!options_.json) continue;
            std::printf("{\"repeat\":%d,\"kernel_ns\":%.0f,\"reference_ns\":", i, kernel_ns.back());
            if (has_reference) std::printf("%.0f}\n", reference_ns.back());
            else std::printf("null}\n");
        }
        print_times(kernel_ns, reference_ns);
        return DONE;
    }

    void print_times(std::vector<double> kernel_ns, std::vector<double> reference_ns) const {
        std::sort(kernel_ns.begin(), kernel_ns.end());
        std::sort(reference_ns.begin(), reference_ns.end());
        const double median = quantile(kernel_ns, 0.5), iqr = quantile(kernel_ns, 0.75) - quantile(kernel_ns, 0.25);
        const Work work = task_.work();
        const double reference = reference_ns.empty() ? 0 : quantile(reference_ns, 0.5);
        if (options_.json) {
            print_identity("time");
            std::printf(",\"summary\":true,\"repeats\":%d,\"kernel_median_ns\":%.0f,\"kernel_min_ns\":%.0f,"
                        "\"kernel_max_ns\":%.0f,\"kernel_iqr_ns\":%.0f,\"%s\":%.1f", options_.repeats, median,
                        kernel_ns.front(), kernel_ns.back(), iqr, work.per_ns, work.amount / median);
            if (reference_ns.empty())
                std::printf(",\"reference\":null,\"reference_median_ns\":null,\"reference_pct\":null}\n");
            else
                std::printf(",\"reference\":\"%s\",\"reference_median_ns\":%.0f,\"reference_pct\":%.2f}\n", task_.reference(),
                            reference, 100 * reference / median);
            return;
        }
        std::printf("%s %s %s on %s, seed %llu\n", rung_.name, shape().c_str(), task_.precision(), device_.name,
                    (unsigned long long)options_.seed);
        std::printf("  median %.1f us (min %.1f, max %.1f, interquartile %.1f), %.1f %s\n", median / 1e3,
                    kernel_ns.front() / 1e3, kernel_ns.back() / 1e3, iqr / 1e3, work.amount / median, work.per_ns);
        if (!reference_ns.empty())
            std::printf("  %s %.1f us: this kernel runs at %.1f %% of it\n", task_.reference(), reference / 1e3,
                        100 * reference / median);
    }

    int profile() {
        for (int i = 0; i < options_.warmup; ++i) launch();
        CUDA_CHECK(cudaDeviceSynchronize());
        CUDA_CHECK(cudaProfilerStart());
        for (int i = 0; i < options_.launches; ++i) launch();
        CUDA_CHECK(cudaDeviceSynchronize());
        CUDA_CHECK(cudaProfilerStop());
        if (options_.json) {
            print_identity("profile");
            std::printf(",\"warmup\":%d,\"launches\":%d}\n", options_.warmup, options_.launches);
        } else {
            std::printf("%s: %d launches in the profiler window after %d before it\n", rung_.name, options_.launches,
                        options_.warmup);
        }
        return DONE;
    }

    typename Task::Rung rung_;
    Options options_;
    cudaDeviceProp device_;
    Task task_;
    Event start_, stop_;
};

template <class Task>
int run(int argc, char** argv, const typename Task::Rung& rung) {
    const Options options = parse_options(argc, argv, Task::parameters());
    return Program<Task>(rung, options, find_device()).run();
}

}  // namespace harness
