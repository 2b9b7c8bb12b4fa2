// Rung 0 of the memory-bound ladders: the device's own copy of as many bytes as the ladder's kernels read and write.
// It takes its workload from the ladder's task, which has for that
//
//     using Element = ...;
//     static std::vector<Parameter> parameters();       "offset" among them
//     static double bytes(const Options&);              that one launch reads and writes
//
// and is itself a task: timed against another copy of the same size, its result is compared byte by byte.
#pragma once

#include <memory>

#include "program.cuh"
#include "streams.cuh"

namespace harness {

template <class Task>
class DeviceCopy {
  public:
    using Element = typename Task::Element;
    struct Rung {
        const char* name;
    };

    static std::vector<Parameter> parameters() { return Task::parameters(); }

    DeviceCopy(const Options& options, const Rung&)
        : count_(std::max<size_t>(size_t(Task::bytes(options) / 2 / sizeof(Element)), 1)), offset_(options["offset"]),
          in_(count_), out_(count_) {
        in_.fill(options.seed);
        out_.poison();
    }

    const char* precision() const { return "bytes"; }
    const char* reference() const { return CopyReference::name(); }
    bool prepare_reference() {
        reference_ = std::make_unique<CopyReference>(work().amount);
        return true;
    }
    void launch_reference() { reference_->launch(); }
    Work work() const { return {2.0 * sizeof(Element) * double(count_), "gbytes_per_s"}; }

    bool launch() {
        CUDA_CHECK(cudaMemcpyAsync(out_.at(offset_), in_.at(offset_), count_ * sizeof(Element), cudaMemcpyDeviceToDevice));
        return true;
    }

    Check check() {
        launch();
        return check_last();
    }
    void poison() { out_.poison(); }
    Check check_last() {
        Tally<unsigned long long> different;
        const auto bytes_of = [&](const GuardedBuffer<Element>& buffer) {
            return reinterpret_cast<const unsigned char*>(buffer.at(offset_));
        };
        count_different<<<1024, 256>>>(bytes_of(out_), bytes_of(in_), count_ * sizeof(Element), different.data());
        Check found{double(different.read()), 0};
        if (out_.changed_outside(offset_, count_)) found.wrong = "bytes written where nothing may be";
        return found;
    }
    const GuardedBuffer<Element>& output() const { return out_; }

  private:
    size_t count_, offset_;
    GuardedBuffer<Element> in_, out_;
    std::unique_ptr<CopyReference> reference_;
};

template <class Task>
int run_memcpy(int argc, char** argv) {
    return run<DeviceCopy<Task>>(argc, argv, {"00_memcpy"});
}

}  // namespace harness
