// Kernels of opencl_c.cpp.
#ifndef __xilinx__
#error "not preprocessed as Vitis does"
#endif
#define WIDTH 64
#define CHECK(condition) \
  if (!(condition)) wrong[1 + wrong[0]++] = __LINE__

constant int step = 1;
typedef const int4 fixed;
typedef int4 four, *fours;
typedef struct {
  int x, lo;
} pair;

// Turns each group round.
kernel void __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
turned(global const int *restrict in, global int *restrict out, const int by) {
  local int kept[WIDTH];
  local int *first = kept;
  const uint at = get_local_id(0);
  first[at] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = kept[WIDTH - 1 - at] + by * step;
}

// Doubles groups that are copied together.
__attribute__((reqd_work_group_size(16, 1, 1)))
kernel void doubled(global const int *in, global int *out) {
  local int kept[16];
  event_t event = async_work_group_copy(kept, in + get_group_id(0) * 16, 16, 0);
  wait_group_events(1, &event);
  kept[get_local_id(0)] *= 2;
  barrier(CLK_LOCAL_MEM_FENCE);
  async_work_group_copy(out + get_group_id(0) * 16, kept, 16, 0);
}

// The last work-item goes astray where the others wait for it.
kernel void __attribute__((reqd_work_group_size(16, 1, 1))) astray(global int *out) {
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (get_local_id(0) == 15) out[1 << 28] = 1;
  barrier(CLK_GLOBAL_MEM_FENCE);
}

// Says which work-items run of a group of two dimensions.
kernel void __attribute__((reqd_work_group_size(8, 4, 1))) plane(global int *out) {
  out[get_local_id(1) * get_local_size(0) + get_local_id(0)] = get_local_size(1);
}

// Vectors as values.
kernel void __attribute__((reqd_work_group_size(1, 1, 1)))
values(const char3 small, const long8 large, global long *out, const float2 two) {
  for (int i = 0; i < 8; ++i) out[i] = large[i] + small.z;
  out[8] = get_local_size(0) + (long)two.y;
}

// Who each work-item is, of two dimensions that begin at (2, 3).
kernel void who(global uint8 *out) {
  const uint at = (get_global_id(1) - 3) * get_global_size(0) + get_global_id(0) - 2;
  out[at] = (uint8)(get_global_id(0), get_global_id(1), get_group_id(0), get_local_id(1),
                    get_num_groups(0), get_local_size(1), get_global_offset(1), get_work_dim());
}

kernel void __attribute__((reqd_work_group_size(1, 1, 1)))
wide(global const uint16 *in, global uint16 *out, uint words) {
  __attribute__((xcl_pipeline_loop(1))) sweep : for (uint i = 0; i < words; ++i) {
    const uint16 word = in[i];
    out[i] = word + word.s0;
  }
}

int twice(int class) { return 2 * class; }

// The lines on which the language is not as it should be, behind their number.
kernel void words(global int *wrong) {
  int4 v = (int4)(1, 2, 3, 4);
  CHECK(v.x == 1 && v.s1 == 2 && v.w == 4 && v[2] == 3);
  four u = (four)(7);
  u.xy = v.zw + 1;
  CHECK(u.x == 4 && u.y == 5 && u.z == 7);
  u.xy = u.yx;
  CHECK(u.x == 5 && u.y == 4 && u.z == 7 && u.w == 7);
  four other = v;
  other.zw = u.zw;
  CHECK(other.y == 2 && other.w == 7);
  other.zw += v.xy;
  CHECK(other.z == 8 && other.w == 9);
  u = v.zwxy < 3;
  CHECK(u.x == 0 && u.z == -1);
  CHECK(all(v > 0) && any(v == 4) && !any(v.lo == 3));
  u = select(v, -v, (int4)(0, -1, 0, -1));
  CHECK(u.x == 1 && u.w == -4);
  float16 sixteen = (float16)((float8)(1.0f), (float4)(2.0f), 3.0f, 4, (float2)(5.0f, 6.0f));
  float8 upper = sixteen.hi;
  float2 ends = sixteen.s0F;
  CHECK(sixteen.sd == 4.0f && upper.s0 == 2.0f && ends.x == 1.0f && ends.y == 6.0f);
  float4 f = clamp(sqrt((float4)(4.0f, 9.0f, 16.0f, 25.0f)), 2.5f, 4.5f);
  CHECK(f.x == 2.5f && f.y == 3.0f && f.w == 4.5f);
  f /= 2;
  CHECK(f.y == 1.5f && dot(f.xy, f.xy) == 3.8125f);
  uchar4 bytes = convert_uchar4_sat_rte((float4)(300.0f, -1.0f, 1.5f, 2.5f));
  CHECK(bytes.x == 255 && bytes.y == 0 && bytes.z == 2 && bytes.w == 2);
  CHECK(convert_int(2.9f) == 2 && convert_int_rtp(2.1f) == 3);
  CHECK(as_uint(1.0f) == 0x3f800000 && as_float4((int4)(0x40000000)).w == 2.0f);
  CHECK(sizeof(int3) == 16 && sizeof(long) == 8 && sizeof(uchar16) == 16);
  CHECK(min(3, 4) == 3 && max((int2)(1, 5), 3).x == 3 && abs(-3) == 3 && abs_diff(-2, 3) == 5);
  CHECK(add_sat((char)127, (char)1) == 127 && sub_sat(0u, 1u) == 0);
  CHECK(mul_hi(0x80000000u, 4u) == 2 && mul24(3, 4) == 12 && mad24(3, 4, 5) == 17);
  CHECK(rotate(0x80000001u, 1u) == 3 && clz((uchar)1) == 7 && popcount(255) == 8);
  CHECK(hadd((uchar)255, (uchar)253) == 254);
  CHECK(fabs(native_sin(M_PI_F)) < 1e-6f && pow(2.0f, 10) == 1024 && fma(2.0f, 3.0f, 4.0f) == 10);
  CHECK(length((float2)(3, 4)) == 5 && cross((float3)(1, 0, 0), (float3)(0, 1, 0)).z == 1);
  CHECK(isnan(NAN) && !isinf(1.0f) && mix(1.0f, 3.0f, 0.5f) == 2 && step == 1);
  float cosine;
  CHECK(sincos(0.0f, &cosine) == 0 && cosine == 1);
  int eight[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  vstore4(vload4(1, eight) * 10, 0, eight);
  CHECK(eight[0] == 50 && eight[3] == 80 && eight[4] == 5);
  int counter = 5;
  CHECK(atomic_add(&counter, 2) == 5 && atom_inc(&counter) == 7 && atomic_cmpxchg(&counter, 8, 1) == 8);
  CHECK(counter == 1);
  pair new = {.x = 3, .lo = 4};
  CHECK(twice(new.x) == 6 && new.lo == 4);
  CHECK(get_global_id(0) == 0 && get_global_size(2) == 1 && get_num_groups(5) == 1);
  int3 three = (int3)(6, 7, 8) / (int3)(1, 2, 0);
  CHECK(three.x == 6 && three.y == 3 && ((int3)(6, 7, 8) % (int3)(4)).z == 0);
  fixed same = (fixed)(1, 2, 3, 4);
  CHECK(((const int4)(1, 2, 3, 4)).w == 4 && same.y == 2);
  int channel = 3, pipe = 2;
  CHECK(channel * 2 == 6 && pipe * channel == 6);
  pair atoms = {.x = 1, .lo = 2};
  int atom_x = atoms.x;
  CHECK(atom_x == 1);
  wrong[1023] = 1;
}
