// Kernels whose threads compute alike what each of them then goes on with by itself.
#include "program.cuh"

// ---- sums of rows, weighed by how near each row's key is to the block's question: the weight is the same for all threads

constexpr int WIDTH = 128, ROWS = 1024, QUESTIONS = SMS * 16;

__device__ __forceinline__ float weight(const float* question, const float* keys, int row) {
  float sum = 0;
  for (int i = 0; i < WIDTH; ++i) sum = fmaf(question[i], keys[size_t(row) * WIDTH + i], sum);  // <- weighed_by_all
  return __expf(sum * (1.0f / WIDTH));
}

__global__ void weighed_by_all(const float* __restrict__ questions, const float* __restrict__ keys, const float* __restrict__ values,
                               float* __restrict__ out) {
  const float* question = questions + size_t(blockIdx.x) * WIDTH;
  float total = 0, sum = 0;
  for (int row = 0; row < ROWS; ++row) {
    float by = weight(question, keys, row);
    total += by;
    sum = fmaf(by, values[size_t(row) * WIDTH + threadIdx.x], sum);
  }
  out[size_t(blockIdx.x) * WIDTH + threadIdx.x] = sum / total;
}

__global__ void weighed_once(const float* __restrict__ questions, const float* __restrict__ keys, const float* __restrict__ values,
                             float* __restrict__ out) {
  __shared__ float weights[WIDTH];
  const float* question = questions + size_t(blockIdx.x) * WIDTH;
  float total = 0, sum = 0;
  for (int first = 0; first < ROWS; first += WIDTH) {
    __syncthreads();
    weights[threadIdx.x] = weight(question, keys, first + threadIdx.x);
    __syncthreads();
    for (int i = 0; i < WIDTH; ++i) {
      total += weights[i];
      sum = fmaf(weights[i], values[size_t(first + i) * WIDTH + threadIdx.x], sum);
    }
  }
  out[size_t(blockIdx.x) * WIDTH + threadIdx.x] = sum / total;
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *questions = p.in<float>(), *keys = p.more<float>(), *values = p.more<float>(MB), *out = p.out<float>();
  auto floats = [=] {
    fill_uniform(questions, size_t(QUESTIONS) * WIDTH, 1);
    fill_uniform(keys, size_t(ROWS) * WIDTH, 2);
    fill_uniform(values, size_t(ROWS) * WIDTH, 3);
  };
  p.set(1e-5);
  p.kernel<float>("weighed_by_all", size_t(QUESTIONS) * WIDTH, floats, [=] { weighed_by_all<<<QUESTIONS, WIDTH>>>(questions, keys, values, out); });
  p.kernel<float>("weighed_once", size_t(QUESTIONS) * WIDTH, floats, [=] { weighed_once<<<QUESTIONS, WIDTH>>>(questions, keys, values, out); });
  return p.end();
}
