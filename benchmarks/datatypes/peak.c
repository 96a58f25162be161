/* What a core computes at most, by datatype and width of vectors: loops of one instruction each, on as many
 * registers as there are, so that nothing waits for a result. The method is that of cpufp.
 *
 * `cargo peers datatypes` compares cpudyno with it. The two share no line, so that an error in one of
 * them shows. A kernel is one row below; only what this CPU and its kernel can execute is run.
 *
 * Build: gcc -O2 -masm=intel peak.c (of AArch64 without -masm)
 * Call:  peak          prints a line for each kernel: name, operations a second
 *        peak serve    prints its kernels, a line each: name, instructions and operations in an iteration;
 *                      then an empty line. Each line `KERNEL ITERATIONS TIMES` of its input, where KERNEL
 *                      counts from 0, executes that kernel so many times. The answer is one line with the
 *                      nanoseconds of each time.
 *
 * A multiplication and the addition of its product are two operations.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A text so many times, and for each of the registers, whose number in it is \n. */
#define TIMES(times, text) ".rept " #times "\n" text "\n.endr\n"
#define SIX(text) ".irp n,0,1,2,3,4,5\n" text "\n.endr\n"
#define EIGHT(text) SIX(text) ".irp n,6,7\n" text "\n.endr\n"
#define FOURTEEN(text) SIX(text) ".irp n,6,7,8,9,10,11,12,13\n" text "\n.endr\n"
#define SIXTEEN(text) FOURTEEN(text) ".irp n,14,15\n" text "\n.endr\n"
#define THIRTY(text) SIXTEEN(text) ".irp n,16,17,18,19,20,21,22,23,24,25,26,27,28,29\n" text "\n.endr\n"
#define THIRTY_TWO(text) THIRTY(text) ".irp n,30,31\n" text "\n.endr\n"

#if defined(__x86_64__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux, Documentation/arch/x86/xstate.rst: who uses tiles asks for them first. */
#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_XTILEDATA 18

/* Eight tiles of 16 rows of 64 bytes (Intel SDM volume 1, "Tile configuration"): palette 1, bytes a row from
 * byte 16 on, rows from byte 48 on. */
static const struct {
    uint8_t palette, first_row, none[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} TILES = {
    .palette = 1,
    .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
    .rows = {16, 16, 16, 16, 16, 16, 16, 16},
};

/* What the CPU has and the kernel saves (Intel SDM volume 2A, CPUID; volume 1, chapter 13). */
static struct {
    int sse2, fma, avx512, avx512vl, fp16, bf16, vnni, vnni_vex, vnni_int8, vnni_int16, tiles, amx_int8, amx_bf16, amx_fp16;
} has;

static unsigned saved_state(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static void detect(void) {
    unsigned a, b, c, d, leaves;
    has.sse2 = 1;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return;
    unsigned saved = saved_state();
    int avx = (saved & 0x6) == 0x6, avx512 = (saved & 0xe6) == 0xe6, tiles = (saved >> 17 & 3) == 3;
    has.fma = avx && (c >> 12 & 1);
    if (!__get_cpuid_count(7, 0, &leaves, &b, &c, &d)) return;
    int avx2 = avx && (b >> 5 & 1);
    has.avx512 = avx512 && (b >> 16 & 1);
    has.avx512vl = has.avx512 && (b >> 31 & 1);
    has.vnni = has.avx512 && (c >> 11 & 1);
    has.fp16 = has.avx512 && (d >> 23 & 1);
    has.tiles = tiles && (d >> 24 & 1)
        && syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
    has.amx_bf16 = has.tiles && (d >> 22 & 1);
    has.amx_int8 = has.tiles && (d >> 25 & 1);
    if (leaves < 1) return;
    __cpuid_count(7, 1, a, b, c, d);
    has.vnni_vex = avx2 && (a >> 4 & 1);
    has.bf16 = has.avx512 && (a >> 5 & 1);
    has.amx_fp16 = has.tiles && (a >> 21 & 1);
    has.vnni_int8 = avx2 && (d >> 4 & 1);
    has.vnni_int16 = avx2 && (d >> 10 & 1);
}

#define VL(set) (has.set && has.avx512vl)

/* vpdpwsud with registers 14 and 15, of 128 bits (0x0a) or 256 (0x0e), for assemblers that do not know it: a VEX
 * prefix of three bytes, opcode and operands (Intel SDM volume 2A, "VEX prefix"). */
#define VPDPWSUD(length) ".byte 0xc4, 0xc2 - (\\n >> 3) * 0x80, " #length ", 0xd2, 0xc7 + (\\n & 7) * 8"

/* Kinds of kernels: name, who can execute it, instructions and operations in an iteration, what stands before,
 * in and behind the loop. Registers are zero, and no instruction changes that. */
#define SSE(name, can, ops, op) \
    name, can, 112, 112 * (ops), SIXTEEN("xorps xmm\\n, xmm\\n"), TIMES(8, FOURTEEN(op)), ""
#define VEX(name, can, ops, op) \
    name, can, 112, 112 * (ops), SIXTEEN("vpxor xmm\\n, xmm\\n, xmm\\n"), TIMES(8, FOURTEEN(op)), "vzeroupper\n"
#define EVEX(name, can, ops, op) \
    name, can, 120, 120 * (ops), THIRTY_TWO("vpxord zmm\\n, zmm\\n, zmm\\n"), TIMES(4, THIRTY(op)), "vzeroupper\n"
#define TILE(name, can, ops, op) \
    name, can, 24, 24 * (ops), "ldtilecfg [%[tiles]]\n" EIGHT("tilezero tmm\\n"), TIMES(4, SIX(op)), "tilerelease\n"

#define KERNELS(ROW) \
    ROW(SSE(f64_add_sse2, has.sse2, 2, "addpd xmm\\n, xmm14")) \
    ROW(VEX(f64_fma_scalar, has.fma, 2, "vfmadd231sd xmm\\n, xmm14, xmm15")) \
    ROW(VEX(f64_fma_128, has.fma, 4, "vfmadd231pd xmm\\n, xmm14, xmm15")) \
    ROW(VEX(f64_fma_256, has.fma, 8, "vfmadd231pd ymm\\n, ymm14, ymm15")) \
    ROW(EVEX(f64_fma_512, has.avx512, 16, "vfmadd231pd zmm\\n, zmm30, zmm31")) \
    ROW(VEX(f32_fma_scalar, has.fma, 2, "vfmadd231ss xmm\\n, xmm14, xmm15")) \
    ROW(VEX(f32_fma_128, has.fma, 8, "vfmadd231ps xmm\\n, xmm14, xmm15")) \
    ROW(VEX(f32_fma_256, has.fma, 16, "vfmadd231ps ymm\\n, ymm14, ymm15")) \
    ROW(EVEX(f32_fma_512, has.avx512, 32, "vfmadd231ps zmm\\n, zmm30, zmm31")) \
    ROW(EVEX(f16_fma_128, VL(fp16), 16, "vfmadd231ph xmm\\n, xmm30, xmm31")) \
    ROW(EVEX(f16_fma_256, VL(fp16), 32, "vfmadd231ph ymm\\n, ymm30, ymm31")) \
    ROW(EVEX(f16_fma_512, has.fp16, 64, "vfmadd231ph zmm\\n, zmm30, zmm31")) \
    ROW(EVEX(bf16_dot_128, VL(bf16), 16, "vdpbf16ps xmm\\n, xmm30, xmm31")) \
    ROW(EVEX(bf16_dot_256, VL(bf16), 32, "vdpbf16ps ymm\\n, ymm30, ymm31")) \
    ROW(EVEX(bf16_dot_512, has.bf16, 64, "vdpbf16ps zmm\\n, zmm30, zmm31")) \
    ROW(VEX(i16_dot_vex_128, has.vnni_vex, 16, "%{vex%} vpdpwssd xmm\\n, xmm14, xmm15")) \
    ROW(VEX(i16_dot_vex_256, has.vnni_vex, 32, "%{vex%} vpdpwssd ymm\\n, ymm14, ymm15")) \
    ROW(EVEX(i16_dot_128, VL(vnni), 16, "%{evex%} vpdpwssd xmm\\n, xmm30, xmm31")) \
    ROW(EVEX(i16_dot_256, VL(vnni), 32, "%{evex%} vpdpwssd ymm\\n, ymm30, ymm31")) \
    ROW(EVEX(i16_dot_512, has.vnni, 64, "vpdpwssd zmm\\n, zmm30, zmm31")) \
    ROW(VEX(i16u16_dot_128, has.vnni_int16, 16, VPDPWSUD(0x0a))) \
    ROW(VEX(i16u16_dot_256, has.vnni_int16, 32, VPDPWSUD(0x0e))) \
    ROW(VEX(u8i8_dot_vex_128, has.vnni_vex, 32, "%{vex%} vpdpbusd xmm\\n, xmm14, xmm15")) \
    ROW(VEX(u8i8_dot_vex_256, has.vnni_vex, 64, "%{vex%} vpdpbusd ymm\\n, ymm14, ymm15")) \
    ROW(EVEX(u8i8_dot_128, VL(vnni), 32, "%{evex%} vpdpbusd xmm\\n, xmm30, xmm31")) \
    ROW(EVEX(u8i8_dot_256, VL(vnni), 64, "%{evex%} vpdpbusd ymm\\n, ymm30, ymm31")) \
    ROW(EVEX(u8i8_dot_512, has.vnni, 128, "vpdpbusd zmm\\n, zmm30, zmm31")) \
    ROW(VEX(i8_dot_128, has.vnni_int8, 32, "vpdpbssd xmm\\n, xmm14, xmm15")) \
    ROW(VEX(i8_dot_256, has.vnni_int8, 64, "vpdpbssd ymm\\n, ymm14, ymm15")) \
    ROW(TILE(f16_tile, has.amx_fp16, 16 * 16 * 32 * 2, "tdpfp16ps tmm\\n, tmm6, tmm7")) \
    ROW(TILE(bf16_tile, has.amx_bf16, 16 * 16 * 32 * 2, "tdpbf16ps tmm\\n, tmm6, tmm7")) \
    ROW(TILE(i8_tile, has.amx_int8, 16 * 16 * 64 * 2, "tdpbssd tmm\\n, tmm6, tmm7"))

#define COUNT_DOWN "dec %[iterations]\njnz 1b\n"
#define INPUTS [tiles] "r"(&TILES)
/* The compiler, which is told of no AVX, uses none of the registers 16 to 31. */
#define CLOBBERED \
    "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
    "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

#elif defined(__aarch64__)

#include <sys/auxv.h>

/* For the assembler: what any row has. */
#define ARCH ".arch armv8.6-a+fp16+sve\n"

/* Bits of AT_HWCAP and AT_HWCAP2 (Linux, arch/arm64/include/uapi/asm/hwcap.h). */
static struct {
    int asimd, fp16, dot, i8mm, bf16, sve, sve_i8mm, sve_bf16;
} has;

/* Bytes of a vector of SVE. */
static uint64_t sve_bytes = 16;

static void detect(void) {
    unsigned long one = getauxval(AT_HWCAP), two = getauxval(AT_HWCAP2);
    has.asimd = one >> 1 & 1;
    has.fp16 = one >> 10 & 1;
    has.dot = one >> 20 & 1;
    has.sve = one >> 22 & 1;
    has.i8mm = two >> 13 & 1;
    has.bf16 = two >> 14 & 1;
    has.sve_i8mm = has.sve && (two >> 9 & 1);
    has.sve_bf16 = has.sve && (two >> 12 & 1);
    if (has.sve) __asm__(ARCH "rdvl %0, #1" : "=r"(sve_bytes));
}

/* Kinds of kernels, as above. Operations are those of 16 bytes. */
#define ZERO ARCH THIRTY_TWO("movi v\\n\\().16b, #0")
#define NEON(name, can, ops, op) name, can, 120, 120 * (ops), ZERO, TIMES(4, THIRTY(op)), ""
#define SVE(name, can, ops, op) \
    name, can, 120, 120 * (ops) * sve_bytes / 16, ZERO "ptrue p0.b\n", TIMES(4, THIRTY(op)), ""

#define KERNELS(ROW) \
    ROW(NEON(f64_fma_scalar, has.asimd, 2, "fmadd d\\n, d30, d31, d\\n")) \
    ROW(NEON(f64_fma_neon, has.asimd, 4, "fmla v\\n\\().2d, v30.2d, v31.2d")) \
    ROW(SVE(f64_fma_sve, has.sve, 4, "fmla z\\n\\().d, p0/m, z30.d, z31.d")) \
    ROW(NEON(f32_fma_scalar, has.asimd, 2, "fmadd s\\n, s30, s31, s\\n")) \
    ROW(NEON(f32_fma_neon, has.asimd, 8, "fmla v\\n\\().4s, v30.4s, v31.4s")) \
    ROW(SVE(f32_fma_sve, has.sve, 8, "fmla z\\n\\().s, p0/m, z30.s, z31.s")) \
    ROW(NEON(f16_fma_neon, has.fp16, 16, "fmla v\\n\\().8h, v30.8h, v31.8h")) \
    ROW(SVE(f16_fma_sve, has.sve, 16, "fmla z\\n\\().h, p0/m, z30.h, z31.h")) \
    ROW(NEON(bf16_dot_neon, has.bf16, 16, "bfdot v\\n\\().4s, v30.8h, v31.8h")) \
    ROW(SVE(bf16_dot_sve, has.sve_bf16, 16, "bfdot z\\n\\().s, z30.h, z31.h")) \
    ROW(NEON(bf16_matrix_neon, has.bf16, 32, "bfmmla v\\n\\().4s, v30.8h, v31.8h")) \
    ROW(SVE(bf16_matrix_sve, has.sve_bf16, 32, "bfmmla z\\n\\().s, z30.h, z31.h")) \
    ROW(NEON(i8_dot_neon, has.dot, 32, "sdot v\\n\\().4s, v30.16b, v31.16b")) \
    ROW(SVE(i8_dot_sve, has.sve, 32, "sdot z\\n\\().s, z30.b, z31.b")) \
    ROW(NEON(i8_matrix_neon, has.i8mm, 64, "smmla v\\n\\().4s, v30.16b, v31.16b")) \
    ROW(SVE(i8_matrix_sve, has.sve_i8mm, 64, "smmla z\\n\\().s, z30.b, z31.b"))

#define COUNT_DOWN "subs %[iterations], %[iterations], #1\nb.ne 1b\n"
#define INPUTS
/* The compiler, which is told of no SVE, uses no predicate. */
#define CLOBBERED \
    "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", \
    "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", \
    "v29", "v30", "v31"

#else
#error "the kernels are written for x86-64 and AArch64"
#endif

/* Each kernel is a function: begin, the loop, end. */
#define ROW_FUNCTION(...) FUNCTION(__VA_ARGS__)
#define FUNCTION(name, can, instructions, operations, begin, body, end) \
    static void name(uint64_t iterations) { \
        __asm__ volatile( \
            begin \
            ".p2align 6\n" \
            "1:\n" \
            body \
            COUNT_DOWN \
            end \
            : [iterations] "+r"(iterations) \
            : INPUTS \
            : CLOBBERED); \
    }
KERNELS(ROW_FUNCTION)

struct kernel {
    const char *name;
    int can;
    uint64_t instructions, operations;
    void (*run)(uint64_t iterations);
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t timed_ns(const struct kernel *kernel, uint64_t iterations) {
    uint64_t begun = now_ns();
    kernel->run(iterations);
    return now_ns() - begun;
}

/* Operations a second: the best of ten times that last a hundredth of a second each, after the clock has
 * settled. */
static double peak(const struct kernel *kernel) {
    const uint64_t turn = 10000000u;
    uint64_t iterations = 1, taken, best = UINT64_MAX;
    while ((taken = timed_ns(kernel, iterations)) < turn) iterations *= 2;
    for (int time = 0; time < 10; time++) timed_ns(kernel, iterations);
    for (int time = 0; time < 10; time++) {
        taken = timed_ns(kernel, iterations);
        if (taken < best) best = taken;
    }
    return (double)(iterations * kernel->operations) / ((double)best * 1e-9);
}

static int serve(const struct kernel *kernels, size_t count) {
    for (size_t i = 0; i < count; i++) {
        printf("%s %" PRIu64 " %" PRIu64 "\n", kernels[i].name, kernels[i].instructions, kernels[i].operations);
    }
    putchar('\n');
    fflush(stdout);
    char line[128];
    while (fgets(line, sizeof line, stdin)) {
        uint64_t kernel, iterations, times;
        if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &kernel, &iterations, &times) != 3
            || kernel >= count || iterations == 0) {
            fprintf(stderr, "peak: not a request: %s", line);
            return 2;
        }
        for (uint64_t time = 0; time < times; time++) {
            printf("%" PRIu64 " ", timed_ns(&kernels[kernel], iterations));
        }
        putchar('\n');
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv) {
    detect();
#define ROW_ENTRY(...) ENTRY(__VA_ARGS__)
#define ENTRY(name, can, instructions, operations, begin, body, end) {#name, can, instructions, operations, name},
    const struct kernel all[] = {KERNELS(ROW_ENTRY)};
    struct kernel here[sizeof all / sizeof all[0]];
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i].can) here[count++] = all[i];
    }
    if (argc == 2 && strcmp(argv[1], "serve") == 0) return serve(here, count);
    if (argc != 1) {
        fprintf(stderr, "peak: call it as: peak [serve]\n");
        return 2;
    }
    for (size_t i = 0; i < count; i++) {
        printf("%-16s %9.2f GOP/s\n", here[i].name, peak(&here[i]) * 1e-9);
        fflush(stdout);
    }
    return 0;
}
