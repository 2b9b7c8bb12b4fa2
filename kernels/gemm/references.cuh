// cuBLAS, the reference of this ladder, twice: its default call, and the algorithms that cublasLt proposes for the shape,
// of which the program times the fastest. Without cuBLAS at build time there is neither.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "../harness/device.cuh"
#include "rung.cuh"

#if !defined(PROF_NO_CUBLAS) && defined(__has_include)
#if !__has_include(<cublasLt.h>)
#define PROF_NO_CUBLAS
#endif
#endif
#ifndef PROF_NO_CUBLAS
#include <cublasLt.h>
#include <cublas_v2.h>
#endif

namespace harness {

#ifdef PROF_NO_CUBLAS

template <class Element, class Result = float>
class Reference {
  public:
    static constexpr bool available = false;
    void launch(const Gemm<Element, Result>&) { fail(CUDA_FAILED, "built without cuBLAS, which is all that this rung runs"); }
};

template <class Element, class Result = float>
class Proposals {
  public:
    explicit Proposals(const Gemm<Element, Result>&) {}
    int count() const { return 0; }
    void launch(int) {}
    std::string text(int) const { return ""; }
};

inline std::string cublas_version() { return ""; }

#else

inline void check_cublas(cublasStatus_t status, const char* call) {
    if (status == CUBLAS_STATUS_ALLOC_FAILED) fail(OUT_OF_MEMORY, "out of device memory in %s", call);
    if (status != CUBLAS_STATUS_SUCCESS) fail(CUDA_FAILED, "%s: %s", call, cublasGetStatusString(status));
}
#define CUBLAS_CHECK(call) ::harness::check_cublas((call), #call)

inline std::string cublas_version() {
    int major = 0, minor = 0, patch = 0;
    CUBLAS_CHECK(cublasGetProperty(MAJOR_VERSION, &major));
    CUBLAS_CHECK(cublasGetProperty(MINOR_VERSION, &minor));
    CUBLAS_CHECK(cublasGetProperty(PATCH_LEVEL, &patch));
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

// How cuBLAS is asked to multiply: in which types, and with which products. All sums are FP32.
template <class Element, class Result>
struct Asked {
    static constexpr cudaDataType_t in = sizeof(Element) == 4 ? CUDA_R_32F : sizeof(Element) == 2 ? CUDA_R_16BF : CUDA_R_8F_E4M3;
    static constexpr cudaDataType_t out = sizeof(Result) == 4 ? CUDA_R_32F : CUDA_R_16BF;
    static constexpr auto compute = std::is_same<Element, tf32>::value ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
};

// The algorithms that cublasLt's heuristic proposes, the most promising first.
template <class Element, class Result = float>
class Proposals {
  public:
    explicit Proposals(const Gemm<Element, Result>& g) : g_(g), workspace_(WORKSPACE_BYTES) {
        using Ask = Asked<Element, Result>;
        CUBLAS_CHECK(cublasLtCreate(&handle_));
        CUBLAS_CHECK(cublasLtMatmulDescCreate(&product_, Ask::compute, CUDA_R_32F));
        if (g.B_BY_COLUMNS) {  // FP8. Rung 17 adds up in the tensor cores alone, so cuBLAS may do so too
            const cublasOperation_t transposed = CUBLAS_OP_T;
            const int8_t fast = 1;
            CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
            CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast));
        }
        if (g.bias) {
            const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
            CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
            CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &g.bias, sizeof g.bias));
        }
        const int b_rows = g.B_BY_COLUMNS ? g.k : g.n, b_columns = g.B_BY_COLUMNS ? g.n : g.k;
        CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&b_, Ask::in, b_rows, b_columns, b_rows));
        CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&a_, Ask::in, g.k, g.m, g.k));
        CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&c_, Ask::out, g.n, g.m, g.n));
        cublasLtMatmulPreference_t preference = nullptr;
        CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
        CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &WORKSPACE_BYTES,
                                                          sizeof WORKSPACE_BYTES));
        found_.resize(REQUESTED);
        int found = 0;
        const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_, product_, b_, a_, c_, c_, preference, REQUESTED,
                                                                     found_.data(), &found);
        if (status != CUBLAS_STATUS_NOT_SUPPORTED) check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
        found_.resize(found);
        CUBLAS_CHECK(cublasLtMatmulPreferenceDestroy(preference));
    }
    ~Proposals() {
        for (cublasLtMatrixLayout_t layout : {a_, b_, c_}) cublasLtMatrixLayoutDestroy(layout);
        cublasLtMatmulDescDestroy(product_);
        cublasLtDestroy(handle_);
    }
    Proposals(const Proposals&) = delete;
    Proposals& operator=(const Proposals&) = delete;

    int count() const { return int(found_.size()); }
    void launch(int proposal) { launch(&found_[proposal].algo); }
    void launch_default() { launch(nullptr); }

    // As JSON, with cuBLAS's own numbers.
    std::string text(int proposal) const {
        const cublasLtMatmulAlgo_t& algorithm = found_[proposal].algo;
        std::string json;
        const auto add = [&](const char* name, cublasLtMatmulAlgoConfigAttributes_t attribute, auto value) {
            if (cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, nullptr) != CUBLAS_STATUS_SUCCESS) return;
            json += (json.empty() ? "{\"" : ",\"") + std::string(name) + "\":" + std::to_string(value);
        };
        add("id", CUBLASLT_ALGO_CONFIG_ID, int32_t{});
        add("tile", CUBLASLT_ALGO_CONFIG_TILE_ID, uint32_t{});
        add("stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, uint32_t{});
        add("split_k", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, int32_t{});
        add("reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, uint32_t{});
        add("swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, uint32_t{});
        add("custom", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, uint32_t{});
        add("inner_shape", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, uint16_t{});
        add("cluster_shape", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, uint16_t{});
        return json + ",\"workspace_bytes\":" + std::to_string(found_[proposal].workspaceSize) + "}";
    }

  private:
    void launch(const cublasLtMatmulAlgo_t* algorithm) {
        const float one = 1.0f, zero = 0.0f;
        CUBLAS_CHECK(cublasLtMatmul(handle_, product_, &one, g_.b, b_, g_.a, a_, &zero, g_.c, c_, g_.c, c_, algorithm,
                                    workspace_.data(), workspace_.bytes(), nullptr));
    }

    static constexpr int REQUESTED = 16;
    static constexpr size_t WORKSPACE_BYTES = size_t(64) << 20;
    Gemm<Element, Result> g_;
    DeviceBuffer<char> workspace_;
    cublasLtHandle_t handle_ = nullptr;
    cublasLtMatmulDesc_t product_ = nullptr;
    cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
    std::vector<cublasLtMatmulHeuristicResult_t> found_;
};

// cuBLAS is column-major and so reads our matrices as their transposes: C^T = B^T A^T.
template <class Element, class Result = float>
class Reference {
  public:
    static constexpr bool available = true;
    Reference() {
        CUBLAS_CHECK(cublasCreate(&handle_));
        CUBLAS_CHECK(cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH));
    }
    ~Reference() { cublasDestroy(handle_); }
    Reference(const Reference&) = delete;
    Reference& operator=(const Reference&) = delete;

    void launch(const Gemm<Element, Result>& g) {
        using Ask = Asked<Element, Result>;
        if (g.bias) {  // cublasGemmEx has no epilogues
            if (!layer_) layer_ = std::make_unique<Proposals<Element, Result>>(g);
            return layer_->launch_default();
        }
        const float one = 1.0f, zero = 0.0f;
        CUBLAS_CHECK(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, g.n, g.m, g.k, &one, g.b, Ask::in, g.n, g.a, Ask::in, g.k,
                                  &zero, g.c, Ask::out, g.n, Ask::compute, CUBLAS_GEMM_DEFAULT));
    }

  private:
    cublasHandle_t handle_ = nullptr;
    std::unique_ptr<Proposals<Element, Result>> layer_;
};

// cublasGemmEx has no FP8: here the default is the call of cublasLt that names no algorithm.
template <class Result>
class Reference<e4m3, Result> {
  public:
    static constexpr bool available = true;
    void launch(const Gemm<e4m3, Result>& g) {
        if (!call_) call_ = std::make_unique<Proposals<e4m3, Result>>(g);
        call_->launch_default();
    }

  private:
    std::unique_ptr<Proposals<e4m3, Result>> call_;
};
#endif

}  // namespace harness
