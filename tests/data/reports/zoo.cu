// A zoo of launches that a report reader must survive: one mode per report.
#include <cstdio>
#include <cstring>
#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t status = (call);                                                     \
        if (status != cudaSuccess) {                                                     \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));         \
            return 1;                                                                    \
        }                                                                                \
    } while (0)

constexpr int kThreads = 256, kBlocks = 264, kElements = kThreads * kBlocks;

__global__ void scale(float* data, float factor) {
    data[blockIdx.x * blockDim.x + threadIdx.x] *= factor;
}

__global__ void offset(float* data, float term) {
    data[blockIdx.x * blockDim.x + threadIdx.x] += term;
}

__device__ __noinline__ float polish(float x) { return x * x + 1.0f / (x + 3.0f); }

__global__ void calls_a_function(float* data) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = data[i];
    for (int step = 0; step < 8; ++step) x = polish(x);
    data[i] = x;
}

template <class Left, class Right> struct Pair {};
template <int Depth> struct Tower {
    using type = Pair<typename Tower<Depth - 1>::type, typename Tower<Depth - 1>::type>;
};
template <> struct Tower<0> { using type = Pair<unsigned long long, double>; };

template <class T> __global__ void long_name(float* data) {
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f;
}

static int hostile(float* data) {
    const char* names[] = {"<script>alert(1)</script>", "two\nlines", "\x1b[31mred\x1b[0m\a", "a|b`c`*d*",
                           "größe 雪 \xe2\x80\xae" "rtl", "quote\"comma,'", ""};
    for (const char* name : names) {
        nvtxRangePushA(name);
        scale<<<kBlocks, kThreads>>>(data, 1.0f);
        nvtxRangePop();
    }
    nvtxDomainHandle_t domain = nvtxDomainCreateA("a domain");
    nvtxEventAttributes_t attributes = {};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "outer";
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxRangeId_t id = nvtxRangeStartA("started, not pushed");
    attributes.message.ascii = "inner";
    nvtxDomainRangePushEx(domain, &attributes);
    long_name<Tower<6>::type><<<kBlocks, kThreads>>>(data);
    nvtxDomainRangePop(domain);
    nvtxRangeEnd(id);
    nvtxDomainRangePop(domain);
    return 0;
}

static int graph(float* data) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    scale<<<kBlocks, kThreads, 0, stream>>>(data, 2.0f);
    offset<<<kBlocks, kThreads, 0, stream>>>(data, 1.0f);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    return 0;
}

static int range(float* data) {
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaProfilerStart());
        scale<<<kBlocks, kThreads>>>(data, 2.0f);
        offset<<<kBlocks, kThreads>>>(data, 1.0f);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaProfilerStop());
    }
    return 0;
}

static int several(float* data) {
    for (int i = 0; i < 3; ++i) {
        scale<<<kBlocks, kThreads>>>(data, 2.0f);
        offset<<<kBlocks, kThreads>>>(data, 1.0f);
    }
    calls_a_function<<<kBlocks, kThreads>>>(data);
    return 0;
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    float* data = nullptr;
    CHECK(cudaMalloc(&data, kElements * sizeof(float)));
    CHECK(cudaMemset(data, 0, kElements * sizeof(float)));
    int status = 2;
    if (!std::strcmp(mode, "hostile")) status = hostile(data);
    if (!std::strcmp(mode, "graph")) status = graph(data);
    if (!std::strcmp(mode, "range")) status = range(data);
    if (!std::strcmp(mode, "several")) status = several(data);
    if (status == 2) std::fprintf(stderr, "usage: zoo hostile|graph|range|several\n");
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return status;
}
