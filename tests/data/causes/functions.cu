// Functions of single precision that are evaluated many times: precise and fast, and such as have no fast form. Each kernel was
// written and labelled before the diagnosis had seen any of them.
#include "program.cuh"

__device__ __forceinline__ float fast_root(float x) {
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(x));
  return root;
}

__device__ __forceinline__ float fast_tanh(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// ---- 64 neurons with gelu: by erf, then by its approximation with a fast tanh

template <bool TANH>
__device__ __forceinline__ void add_neurons(const float* __restrict__ in, const float2* __restrict__ weights, float* __restrict__ out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = 6 * in[i] - 3, sum = 0;
  for (int k = 0; k < 64; ++k) {
    float2 w = weights[k];
    float v = (2 * w.x - 1) * x + w.y;
    sum += TANH ? 0.5f * v * (1 + fast_tanh(0.79788456f * (v + 0.044715f * v * v * v))) : 0.5f * v * (1 + erff(0.70710678f * v));  // <- neurons_erf
  }
  out[i] = sum;
}

__global__ void neurons_erf(const float* in, const float2* weights, float* out) { add_neurons<false>(in, weights, out); }
__global__ void neurons_tanh(const float* in, const float2* weights, float* out) { add_neurons<true>(in, weights, out); }

// ---- a plume that spreads and decays: erf and exp, then a fast exp, then also an erf of three digits (Abramowitz and Stegun, 7.1.27)

__device__ __forceinline__ float short_erf(float x) {
  float a = fabsf(x), d = 1 + a * (0.278393f + a * (0.230389f + a * (0.000972f + a * 0.078108f)));
  d *= d;
  return copysignf(1 - __fdividef(1.0f, d * d), x);
}

template <int FAST>
__device__ __forceinline__ void spread(const float* __restrict__ in, const float2* __restrict__ sources, float* __restrict__ out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = 4 * in[i], sum = 0;
  for (int k = 0; k < 64; ++k) {
    float2 s = sources[k];
    float front = 2 * (x - 4 * s.x);
    float decay = FAST >= 1 ? __expf(-s.y * x) : expf(-s.y * x);  // <- plume_precise
    sum += decay * (1 + (FAST >= 2 ? short_erf(front) : erff(front)));  // <- plume_fast
  }
  out[i] = sum;
}

__global__ void plume_precise(const float* in, const float2* sources, float* out) { spread<0>(in, sources, out); }
__global__ void plume_fast(const float* in, const float2* sources, float* out) { spread<1>(in, sources, out); }
__global__ void plume_short(const float* in, const float2* sources, float* out) { spread<2>(in, sources, out); }

// ---- the least angle to 64 directions: of angles, then the angle of the largest cosine

template <bool COSINES>
__device__ __forceinline__ void find_closest(const float* __restrict__ in, const float4* __restrict__ directions, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i] - 0.5f, y = in[i + n] - 0.5f, z = in[i + 2 * n] - 0.5f, scale = rsqrtf(x * x + y * y + z * z), least = 4, largest = -1;
  x *= scale, y *= scale, z *= scale;
  for (int k = 0; k < 64; ++k) {
    float4 d = directions[k];
    float cosine = x * d.x + y * d.y + z * d.z;
    if (COSINES)
      largest = fmaxf(largest, cosine);
    else
      least = fminf(least, acosf(cosine));  // <- closest_acos
  }
  out[i] = COSINES ? acosf(largest) : least;
}

__global__ void closest_acos(const float* in, const float4* directions, float* out, int n) { find_closest<false>(in, directions, out, n); }
__global__ void closest_cosine(const float* in, const float4* directions, float* out, int n) { find_closest<true>(in, directions, out, n); }

// ---- bends of a line: the angle between two pieces by their cosine, then its sign alone, which the cross product tells

template <bool CROSS>
__device__ __forceinline__ void count_bends(const float* __restrict__ in, const float4* __restrict__ pieces, int* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, left = 0;
  float x = in[i] - 0.5f, y = in[i + n] - 0.5f;
  for (int k = 0; k < 64; ++k) {
    float4 d = pieces[k];
    if (CROSS)
      left += x * d.y - y * d.x > 0;
    else
      left += atan2f(x * d.y - y * d.x, x * d.x + y * d.y) > 0;  // <- bends_atan2
  }
  out[i] = left;
}

__global__ void bends_atan2(const float* in, const float4* pieces, int* out, int n) { count_bends<false>(in, pieces, out, n); }
__global__ void bends_cross(const float* in, const float4* pieces, int* out, int n) { count_bends<true>(in, pieces, out, n); }

// ---- how many of 256 bodies are near: by roots, by a norm, then by squares

template <int HOW>
__device__ __forceinline__ void count_near(const float* __restrict__ in, int* __restrict__ out, float radius, int n) {
  __shared__ float4 tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x, near = 0;
  float4 me = make_float4(in[i], in[i + n], in[i + 2 * n], 0);
  tile[threadIdx.x] = me;
  __syncthreads();
  for (int k = 0; k < 256; ++k) {
    float4 other = tile[k];
    float x = other.x - me.x, y = other.y - me.y, z = other.z - me.z;
    if (HOW == 0)
      near += sqrtf(x * x + y * y + z * z) < radius;  // <- near_roots
    else if (HOW == 1)
      near += norm3df(x, y, z) < radius;  // <- near_norms
    else
      near += x * x + y * y + z * z < radius * radius;
  }
  out[i] = near;
}

__global__ void near_roots(const float* in, int* out, float radius, int n) { count_near<0>(in, out, radius, n); }
__global__ void near_norms(const float* in, int* out, float radius, int n) { count_near<1>(in, out, radius, n); }
__global__ void near_squares(const float* in, int* out, float radius, int n) { count_near<2>(in, out, radius, n); }

// ---- the nearest of 256 bodies and how far it is: a root for each, then one

template <bool SQUARES>
__device__ __forceinline__ void find_nearest(const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float2 tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i], y = in[i + n], best = INFINITY;
  tile[threadIdx.x] = make_float2(in[i + 2 * n], in[i + 3 * n]);
  __syncthreads();
  for (int k = 0; k < 256; ++k) {
    float dx = tile[k].x - x, dy = tile[k].y - y, d = dx * dx + dy * dy;
    if (!SQUARES) d = sqrtf(d);  // <- nearest_roots
    if (d < best) best = d;
  }
  out[i] = SQUARES ? sqrtf(best) : best;
}

__global__ void nearest_roots(const float* in, float* out, int n) { find_nearest<false>(in, out, n); }
__global__ void nearest_squares(const float* in, float* out, int n) { find_nearest<true>(in, out, n); }

// ---- a spring to each body that is near: the root is compared and used, then a fast one is

template <bool FAST>
__device__ __forceinline__ void add_springs(const float* __restrict__ in, float* __restrict__ out, float radius, int n) {
  __shared__ float4 tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = make_float4(in[i], in[i + n], in[i + 2 * n], 0);
  float sum = 0;
  tile[threadIdx.x] = me;
  __syncthreads();
  for (int k = 0; k < 256; ++k) {
    float4 other = tile[k];
    float x = other.x - me.x, y = other.y - me.y, z = other.z - me.z, square = x * x + y * y + z * z;
    float d = FAST ? fast_root(square) : sqrtf(square);  // <- springs_precise
    if (d < radius) sum += (radius - d) * (radius - d);
  }
  out[i] = sum;
}

__global__ void springs_precise(const float* in, float* out, float radius, int n) { add_springs<false>(in, out, radius, n); }
__global__ void springs_fast(const float* in, float* out, float radius, int n) { add_springs<true>(in, out, radius, n); }

// ---- light of 64 lamps on a surface: normals by a division by a root, then by the reciprocal root

template <bool FAST>
__device__ __forceinline__ void light(const float* __restrict__ in, const float4* __restrict__ lamps, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float u = in[i], v = in[i + n], sum = 0;
  for (int k = 0; k < 64; ++k) {
    float4 lamp = lamps[k];
    float x = lamp.x - u, y = lamp.y - v, square = x * x + y * y + 1;
    sum += lamp.w * (FAST ? rsqrtf(square) : 1 / sqrtf(square));  // <- light_precise
  }
  out[i] = sum;
}

__global__ void light_precise(const float* in, const float4* lamps, float* out, int n) { light<false>(in, lamps, out, n); }
__global__ void light_fast(const float* in, const float4* lamps, float* out, int n) { light<true>(in, lamps, out, n); }

// ---- sums of one function over 64 terms: as the library has it, then as a fast form or a formula of fast forms has it

template <typename F>
__device__ __forceinline__ void add_terms(const float* __restrict__ in, const float2* __restrict__ terms, float* __restrict__ out, F f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i], sum = 0;
  for (int k = 0; k < 64; ++k) {
    float2 t = terms[k];
    sum += t.y * f(t.x * x + t.y, t.x);
  }
  out[i] = sum;
}

#define SUM_OF(name, expression)                                                                  \
  __global__ void name(const float* in, const float2* terms, float* out) {                        \
    add_terms(in, terms, out, [](float x, float y) { return expression; });                       \
  }
SUM_OF(rates_precise, x / (y + 0.5f))  // <- rates_precise
SUM_OF(rates_fast, __fdividef(x, y + 0.5f))
SUM_OF(decays_precise, expf(-x))  // <- decays_precise
SUM_OF(decays_fast, __expf(-x))
SUM_OF(doubts_precise, logf(x + 0.1f))  // <- doubts_precise
SUM_OF(doubts_fast, __logf(x + 0.1f))
SUM_OF(tones_precise, sinf(6 * x))  // <- tones_precise
SUM_OF(tones_fast, __sinf(6 * x))
SUM_OF(curves_precise, powf(x + 0.1f, 2 * y))  // <- curves_precise
SUM_OF(curves_fast, __powf(x + 0.1f, 2 * y))
SUM_OF(slopes_precise, tanf(0.7f * x))  // <- slopes_precise
SUM_OF(slopes_fast, __tanf(0.7f * x))
SUM_OF(cables_precise, sinhf(x))  // <- cables_precise
SUM_OF(cables_fast, (__expf(x) - __expf(-x)) / 2)
SUM_OF(gates_precise, log1pf(expf(8 * x - 8)))  // <- gates_precise
SUM_OF(gates_fast, __logf(1 + __expf(8 * x - 8)))

// ---- sums of one power with a constant exponent: by powf, then by products, by a root, or where neither gives it, by the fast form

__device__ __forceinline__ float cube(float x) { return x * x * x; }

__device__ __forceinline__ float squared_five_times(float x) {
  for (int k = 0; k < 5; ++k) x *= x;
  return x;
}

SUM_OF(cubes_powf, powf(x, 3.0f))  // <- cubes_powf
SUM_OF(cubes_products, cube(x))
SUM_OF(bells_powf, powf(x * x + 1, -1.5f))  // <- bells_powf
SUM_OF(bells_root, cube(rsqrtf(x * x + 1)))
SUM_OF(shine_powf, powf(0.5f * x, 32.0f))  // <- shine_powf
SUM_OF(shine_products, squared_five_times(0.5f * x))
SUM_OF(gammas_powf, powf(x, 2.4f))  // <- gammas_powf
SUM_OF(gammas_fast, __powf(x, 2.4f))

// ----

int main(int argc, char** argv) {
  Program p(argc, argv);
  constexpr int N = 1 << 22, BODIES = 1 << 20;
  float *in = p.in<float>(), *out = p.out<float>();
  int* counts = p.out<int>();
  float2* terms = p.more<float2>();
  float4* records = p.more<float4>();
  auto inputs = [=] {
    fill_uniform(in, size_t(N) * 4, 1);
    fill_uniform(reinterpret_cast<float*>(terms), 512, 2);
  };
  auto directions = [=] {
    fill_uniform(in, size_t(N) * 4, 1);
    fill(records, 64, [] __device__(size_t i) {
      unsigned k = static_cast<unsigned>(i);
      float x = uniform(k, 2) - 0.5f, y = uniform(k, 3) - 0.5f, z = uniform(k, 4) - 0.5f, scale = 0.9999f / sqrtf(x * x + y * y + z * z);  // no cosine may exceed 1
      return make_float4(x * scale, y * scale, z * scale, uniform(k, 5));
    });
  };

  p.set(2e-2);
  p.kernel<float>("neurons_erf", N, inputs, [=] { neurons_erf<<<N / 256, 256>>>(in, terms, out); });
  p.kernel<float>("neurons_tanh", N, inputs, [=] { neurons_tanh<<<N / 256, 256>>>(in, terms, out); });

  p.set(5e-3);
  p.kernel<float>("plume_precise", N, inputs, [=] { plume_precise<<<N / 256, 256>>>(in, terms, out); });
  p.kernel<float>("plume_fast", N, inputs, [=] { plume_fast<<<N / 256, 256>>>(in, terms, out); });
  p.kernel<float>("plume_short", N, inputs, [=] { plume_short<<<N / 256, 256>>>(in, terms, out); });

  p.set(1e-4);
  p.kernel<float>("closest_acos", N, directions, [=] { closest_acos<<<N / 256, 256>>>(in, records, out, N); });
  p.kernel<float>("closest_cosine", N, directions, [=] { closest_cosine<<<N / 256, 256>>>(in, records, out, N); });

  p.set(0.04);  // a piece in line may count or not
  p.kernel<int>("bends_atan2", N, directions, [=] { bends_atan2<<<N / 256, 256>>>(in, records, counts, N); });
  p.kernel<int>("bends_cross", N, directions, [=] { bends_cross<<<N / 256, 256>>>(in, records, counts, N); });

  // Squares of these places are exact, and none equals the square of the radius: roots and squares say the same.
  auto places = [=] { fill(in, size_t(BODIES) * 3, [] __device__(size_t i) { return floorf(1024 * uniform(static_cast<unsigned>(i), 1)) / 1024; }); };
  float radius = std::sqrt(94371.5f) / 1024;
  p.set();
  p.kernel<int>("near_roots", BODIES, places, [=] { near_roots<<<BODIES / 256, 256>>>(in, counts, radius, BODIES); });
  p.kernel<int>("near_norms", BODIES, places, [=] { near_norms<<<BODIES / 256, 256>>>(in, counts, radius, BODIES); });
  p.kernel<int>("near_squares", BODIES, places, [=] { near_squares<<<BODIES / 256, 256>>>(in, counts, radius, BODIES); });

  p.set(1e-5);
  p.kernel<float>("nearest_roots", BODIES, inputs, [=] { nearest_roots<<<BODIES / 256, 256>>>(in, out, BODIES); });
  p.kernel<float>("nearest_squares", BODIES, inputs, [=] { nearest_squares<<<BODIES / 256, 256>>>(in, out, BODIES); });

  p.set(1e-3);
  p.kernel<float>("springs_precise", BODIES, inputs, [=] { springs_precise<<<BODIES / 256, 256>>>(in, out, 0.5f, BODIES); });
  p.kernel<float>("springs_fast", BODIES, inputs, [=] { springs_fast<<<BODIES / 256, 256>>>(in, out, 0.5f, BODIES); });
  p.set(1e-4);
  p.kernel<float>("light_precise", N, directions, [=] { light_precise<<<N / 256, 256>>>(in, records, out, N); });
  p.kernel<float>("light_fast", N, directions, [=] { light_fast<<<N / 256, 256>>>(in, records, out, N); });

#define COMPARE(tolerance, precise, fast)                                                          \
  p.set(tolerance);                                                                                \
  p.kernel<float>(#precise, N, inputs, [=] { precise<<<N / 256, 256>>>(in, terms, out); });        \
  p.kernel<float>(#fast, N, inputs, [=] { fast<<<N / 256, 256>>>(in, terms, out); });
  COMPARE(1e-3, rates_precise, rates_fast)
  COMPARE(1e-3, decays_precise, decays_fast)
  COMPARE(1e-3, doubts_precise, doubts_fast)
  COMPARE(1e-3, tones_precise, tones_fast)
  COMPARE(1e-3, curves_precise, curves_fast)
  COMPARE(1e-2, slopes_precise, slopes_fast)
  COMPARE(1e-3, cables_precise, cables_fast)
  COMPARE(1e-3, gates_precise, gates_fast)
  COMPARE(1e-4, cubes_powf, cubes_products)
  COMPARE(1e-4, bells_powf, bells_root)
  COMPARE(1e-4, shine_powf, shine_products)
  COMPARE(1e-3, gammas_powf, gammas_fast)
  return p.end();
}
