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
//
// A task may have more. If the library behind its reference proposes several algorithms, the fastest of them is timed too:
//
//     int proposals() const;  void launch_proposal(int);  std::string proposal_text(int) const;     as JSON
//     std::string library() const;                  its name and version
//     Check check_reference();                      compares what the reference computed last
//
// And if its outputs can be poisoned and compared apart from a launch, what was timed is verified as well:
//
//     void poison();  Check check_last();  const DeviceBuffer<...>& output() const;
#pragma once

#include <cuda_profiler_api.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
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
    double worst_element = -1;         // how far off, in parts of what is allowed for that element; -1 where none has a bound
    bool ok() const { return not_finite == 0 && wrong.empty() && std::isfinite(error) && error <= threshold; }
};

// Linear interpolation between the closest ranks of a sorted sample.
inline double quantile(const std::vector<double>& sorted, double q) {
    const double rank = q * double(sorted.size() - 1);
    const size_t below = size_t(rank);
    const size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (rank - double(below)) * (sorted[above] - sorted[below]);
}

template <class Task, class = void>
constexpr bool has_proposals = false;
template <class Task>
constexpr bool has_proposals<Task, std::void_t<decltype(std::declval<Task&>().launch_proposal(0))>> = true;

template <class Task, class = void>
constexpr bool keeps_output = false;
template <class Task>
constexpr bool keeps_output<Task, std::void_t<decltype(std::declval<Task&>().check_last())>> = true;

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
        if (options_.mode == "repeat") return repeat();
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
            print_figures(found);
            std::printf(",\"cases\":%d,\"refused\":%d,\"ok\":%s}\n", found.cases, found.refused, found.ok() ? "true" : "false");
        } else {
            std::printf("%s %s, seed %llu: %s, relative error %.3e (at most %.3e), %llu not finite; cases %d, refused %d\n",
                        rung_.name, shape().c_str(), (unsigned long long)options_.seed, found.ok() ? "correct" : "WRONG",
                        found.error, found.threshold, found.not_finite, found.cases, found.refused);
        }
        return verdict(found, "");
    }

    static void print_figures(const Check& found) {
        if (std::isfinite(found.error)) std::printf(",\"relative_error\":%.4e", found.error);
        else std::printf(",\"relative_error\":null");
        std::printf(",\"threshold\":%.4e,\"not_finite\":%llu", found.threshold, found.not_finite);
        if (std::isfinite(found.worst_element) && found.worst_element >= 0) std::printf(",\"worst_element\":%.4e", found.worst_element);
    }

    static Exit verdict(const Check& found, const char* whose) {
        if (!found.wrong.empty()) std::fprintf(stderr, "error: %s%s\n", whose, found.wrong.c_str());
        if (found.not_finite)
            std::fprintf(stderr, "error: %s%llu elements of the result are NaN or infinite\n", whose, found.not_finite);
        else if (!found.ok())
            std::fprintf(stderr, "error: %srelative error %.3e; allowed is %.3e\n", whose, found.error, found.threshold);
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

    struct Contender {
        const char* key;
        std::function<void()> launch;
        std::vector<double> ns = {};
    };

    int time() {
        ColdCache cache(device_);
        std::vector<Contender> contenders;
        contenders.push_back({"kernel_ns", [&] { launch(); }});
        if (task_.prepare_reference()) contenders.push_back({"reference_ns", [&] { task_.launch_reference(); }});
        else std::fprintf(stderr, "timing %s without a reference\n", rung_.name);
        std::string best;
        if constexpr (has_proposals<Task>) {
            if (contenders.size() > 1) {
                const int proposal = fastest_proposal(cache);
                contenders.push_back({"best_ns", [this, proposal] { launch_proposal(proposal); }});
                best = proposal < 0 ? "{}" : task_.proposal_text(proposal);
            }
        }
        const auto once = [&](Contender& one) {
            if constexpr (keeps_output<Task>)
                if (&one == &contenders[0]) task_.poison();
            return time_once_ns(cache, one.launch);
        };
        for (int i = 0; i < options_.warmup; ++i)
            for (Contender& one : contenders) once(one);
        const double began = unix_seconds();
        for (int i = 0; i < options_.repeats; ++i) {
            // Taking turns at who goes first cancels what each leaves behind for the next: heat, clocks.
            for (size_t turn = 0; turn < contenders.size(); ++turn) {
                Contender& one = contenders[(i + turn) % contenders.size()];
                one.ns.push_back(once(one));
            }
            if (options_.json) print_repeat(i, contenders);
        }
        const double ended = unix_seconds();
        Exit result = DONE;
        Check last{0, 0};
        if constexpr (keeps_output<Task>) result = verdict(last = task_.check_last(), "after the last timed launch: ");
        if (options_.json) print_summary(contenders, best, began, ended, last);
        else print_times(contenders);
        return result;
    }

    void launch_proposal(int proposal) {
        if constexpr (has_proposals<Task>) proposal < 0 ? task_.launch_reference() : task_.launch_proposal(proposal);
    }

    // The fastest of what the reference's library proposes, or -1 where none is faster than its default. Each is timed, and those
    // that come close to the best once more, more often; a long launch scatters little, and is timed less often.
    int fastest_proposal(ColdCache& cache) {
        const auto median_ns = [&](int proposal, int times) {
            std::vector<double> ns;
            for (int i = 0; i < times; ++i) ns.push_back(time_once_ns(cache, [&] { launch_proposal(proposal); }));
            std::sort(ns.begin(), ns.end());
            return quantile(ns, 0.5);
        };
        std::vector<std::pair<double, int>> found;
        double least_ns = std::numeric_limits<double>::infinity();
        for (int proposal = -1; proposal < task_.proposals(); ++proposal) {
            time_once_ns(cache, [&] { launch_proposal(proposal); });  // loads its kernel
            double ns = median_ns(proposal, 1);
            if (ns < 1.3 * least_ns && ns < LONG_NS) ns = median_ns(proposal, 3);
            found.push_back({ns, proposal});
            least_ns = std::min(least_ns, ns);
        }
        std::sort(found.begin(), found.end());
        found.resize(std::min<size_t>(found.size(), 4));
        for (auto& [ns, proposal] : found) ns = median_ns(proposal, ns < LONG_NS ? 9 : 3);
        const int best = std::min_element(found.begin(), found.end())->second;
        launch_proposal(best);
        if (const Exit wrong = verdict(task_.check_reference(), "the reference: ")) std::exit(wrong);
        return best;
    }

    static double unix_seconds() {
        return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    }

    static void print_repeat(int repeat, const std::vector<Contender>& contenders) {
        std::printf("{\"repeat\":%d", repeat);
        for (const Contender& one : contenders) std::printf(",\"%s\":%.0f", one.key, one.ns.back());
        std::printf("%s}\n", contenders.size() < 2 ? ",\"reference_ns\":null" : "");
    }

    static double median(const Contender& one, double q = 0.5) {
        std::vector<double> sorted = one.ns;
        std::sort(sorted.begin(), sorted.end());
        return quantile(sorted, q);
    }

    void print_summary(const std::vector<Contender>& contenders, const std::string& best, double began, double ended,
                       const Check& last) const {
        const Contender& kernel = contenders[0];
        const double ns = median(kernel);
        const Work work = task_.work();
        print_identity("time");
        std::printf(",\"summary\":true,\"repeats\":%d,\"kernel_median_ns\":%.0f,\"kernel_min_ns\":%.0f,\"kernel_max_ns\":%.0f,"
                    "\"kernel_iqr_ns\":%.0f,\"%s\":%.1f,\"began\":%.3f,\"ended\":%.3f",
                    options_.repeats, ns, median(kernel, 0), median(kernel, 1), median(kernel, 0.75) - median(kernel, 0.25),
                    work.per_ns, work.amount / ns, began, ended);
        if (keeps_output<Task>) print_figures(last);
        if (contenders.size() > 1) {
            const double reference_ns = median(contenders[1]);
            std::printf(",\"reference\":\"%s\",\"reference_median_ns\":%.0f,\"reference_pct\":%.2f",
                        std::string(task_.reference()).c_str(), reference_ns, 100 * reference_ns / ns);
        } else {
            std::printf(",\"reference\":null,\"reference_median_ns\":null,\"reference_pct\":null");
        }
        if constexpr (has_proposals<Task>)
            if (contenders.size() > 2)
                std::printf(",\"library\":\"%s\",\"proposals\":%d,\"algorithm\":%s,\"best_median_ns\":%.0f,\"best_pct\":%.2f",
                            task_.library().c_str(), task_.proposals(), best.c_str(), median(contenders[2]),
                            100 * median(contenders[2]) / ns);
        std::printf("}\n");
    }

    void print_times(const std::vector<Contender>& contenders) const {
        const Contender& kernel = contenders[0];
        const double ns = median(kernel);
        const Work work = task_.work();
        std::printf("%s %s %s on %s, seed %llu\n", rung_.name, shape().c_str(), task_.precision(), device_.name,
                    (unsigned long long)options_.seed);
        std::printf("  median %.1f us (min %.1f, max %.1f, interquartile %.1f), %.1f %s\n", ns / 1e3, median(kernel, 0) / 1e3,
                    median(kernel, 1) / 1e3, (median(kernel, 0.75) - median(kernel, 0.25)) / 1e3, work.amount / ns, work.per_ns);
        for (size_t i = 1; i < contenders.size(); ++i) {
            const double other_ns = median(contenders[i]);
            std::printf("  %s%s %.1f us: this kernel runs at %.1f %% of it\n", std::string(task_.reference()).c_str(),
                        i == 2 ? ", its fastest algorithm" : "", other_ns / 1e3, 100 * other_ns / ns);
        }
    }

    // Every launch on poisoned outputs must leave the same bits as the first.
    int repeat() {
        if constexpr (!keeps_output<Task>) {
            fail(USAGE, "this program cannot repeat: its task keeps no output");
        } else {
            launch();
            const auto& output = task_.output();
            DeviceBuffer<unsigned char> first(output.bytes());
            CUDA_CHECK(cudaMemcpy(first.data(), output.data(), output.bytes(), cudaMemcpyDeviceToDevice));
            const Exit result = verdict(task_.check_last(), "the first launch: ");
            Tally<unsigned long long> different;
            for (int i = 1; i < options_.launches; ++i) {
                task_.poison();
                launch();
                count_different<<<1024, 256>>>(first.data(), reinterpret_cast<const unsigned char*>(output.data()), output.bytes(),
                                               different.data());
            }
            const unsigned long long bytes = different.read();
            if (options_.json) {
                print_identity("repeat");
                std::printf(",\"launches\":%d,\"different_bytes\":%llu,\"ok\":%s}\n", options_.launches, bytes,
                            bytes || result ? "false" : "true");
            } else {
                std::printf("%s %s: %d launches, %llu bytes differ from the first\n", rung_.name, shape().c_str(), options_.launches,
                            bytes);
            }
            return bytes ? MISMATCH : result;
        }
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

    static constexpr double LONG_NS = 5e6;
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
