/* Plain loops: for each classic stream, the simplest loop that executes its instructions.
 *
 * `cargo peers plain` compares cpudyno with it. The two share no line, so that an error in one of
 * them shows. A loop is one row below, and its ops can be counted there.
 *
 * Build: gcc -O2 -masm=intel plain.c
 *
 * It prints its loops, a line each: name and ops in an iteration; then an empty line. Each line
 * `LOOP ITERATIONS TIMES` of its input, where LOOP counts from 0, executes that loop so many times.
 * The answer is one line with the nanoseconds of each time.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#ifndef __x86_64__
#error "the plain loops are written for x86-64"
#endif

/* What vectors begin with. No op changes them: 0 + 0, 0 * 1, 0 * 1 + 0. */
static const double ZEROS[8] = {0, 0, 0, 0, 0, 0, 0, 0};
static const double ONES[8] = {1, 1, 1, 1, 1, 1, 1, 1};
/* Zero, and something in the upper half. */
static const double DIRT[4] = {0, 0, 1, 1};

/* A text so many times; and for each of twelve registers, whose number in it is \n. */
#define TIMES(times, text) ".rept " #times "\n" text "\n.endr\n"
#define TWELVE(text) ".irp n,0,1,2,3,4,5,6,7,8,9,10,11\n" text "\n.endr\n"

/* Zeros in vector registers 0 to 11, which ops change, and in 13; ones in 14. */
#define LOAD(v) \
    TWELVE("vmovupd " #v "\\n, [%[zeros]]") \
    "vmovupd " #v "13, [%[zeros]]\n" \
    "vmovupd " #v "14, [%[ones]]\n"
/* Every second part of a vector. */
#define MASK "mov ecx, 0x5555\nkmovw k1, ecx\n"
#define END "vzeroupper\n"

/* Kinds of loops: name, ops in an iteration, what stands before, in and behind the loop. */
#define SPIN(name, op) name, 10, "", TIMES(10, op), ""
#define SCALAR(name, op) name, 100, "", TIMES(100, op), ""
#define SERIAL(name, v, op) name, 100, LOAD(v), TIMES(100, op), END
#define PARALLEL(name, v, op) name, 96, LOAD(v), TIMES(8, TWELVE(op)), END
#define SPARSE(name, v, op) name, 100, LOAD(v), TIMES(100, "add rax, rdx") op "\n", END
#define MASKED(name, v, op) name, 100, LOAD(v) MASK, TIMES(100, "add rax, rdx") op "\n", END
/* vzeroupper leaves register 16 alone. */
#define HIGH(name, v, op) \
    name, 100, LOAD(v) "vmovupd " #v "16, [%[zeros]]\n", TIMES(100, op), \
    "vpxord " #v "16, " #v "16, " #v "16\n" END
/* An addition, a comparison and a branch are one op. Zero is a number: the branch is not taken.
 * Dirty registers are loaded whole. A movsd would merge into them, and on Cascade Lake the unit
 * that happens to merge decides whether each addition that reads the register takes 4 cycles or 5.
 */
#define COMPARE(name, load) \
    name, 100, load, TIMES(100, "addsd xmm0, xmm1\nucomisd xmm0, xmm1\njp 2f"), END
#define CLEAN "vzeroupper\nmovsd xmm0, [%[zeros]]\nmovsd xmm1, [%[zeros]]\n"
#define DIRTY "vmovupd ymm0, [%[dirt]]\nvmovupd ymm1, [%[dirt]]\n"

#define LOOPS(ROW) \
    ROW(SPIN(pause_only, "pause")) \
    ROW(COMPARE(ucomis_clean, CLEAN)) \
    ROW(COMPARE(ucomis_dirty, DIRTY)) \
    ROW(SCALAR(scalar_iadd, "add rax, rdx")) \
    ROW(SERIAL(avx128_iadd, xmm, "vpaddq xmm0, xmm0, xmm13")) \
    ROW(SERIAL(avx256_iadd, ymm, "vpaddq ymm0, ymm0, ymm13")) \
    ROW(SERIAL(avx512_iadd, zmm, "vpaddq zmm0, zmm0, zmm13")) \
    ROW(HIGH(avx128_iadd16, xmm, "vpaddq xmm16, xmm16, xmm13")) \
    ROW(HIGH(avx256_iadd16, ymm, "vpaddq ymm16, ymm16, ymm13")) \
    ROW(HIGH(avx512_iadd16, zmm, "vpaddq zmm16, zmm16, zmm13")) \
    ROW(PARALLEL(avx128_iadd_t, xmm, "vpaddq xmm\\n, xmm\\n, xmm13")) \
    ROW(PARALLEL(avx256_iadd_t, ymm, "vpaddq ymm\\n, ymm\\n, ymm13")) \
    ROW(SERIAL(avx128_xor_zero, xmm, "vpxor xmm0, xmm0, xmm0")) \
    ROW(SERIAL(avx256_xor_zero, ymm, "vpxor ymm0, ymm0, ymm0")) \
    ROW(SERIAL(avx512_xor_zero, zmm, "vpxord zmm0, zmm0, zmm0")) \
    ROW(SPARSE(avx128_mov_sparse, xmm, "vmovdqa xmm0, xmm13")) \
    ROW(SPARSE(avx256_mov_sparse, ymm, "vmovdqa ymm0, ymm13")) \
    ROW(SPARSE(avx512_mov_sparse, zmm, "vmovdqa64 zmm0, zmm13")) \
    ROW(MASKED(avx128_merge_sparse, xmm, "vmovdqa32 xmm0%{k1%}, xmm13")) \
    ROW(MASKED(avx256_merge_sparse, ymm, "vmovdqa32 ymm0%{k1%}, ymm13")) \
    ROW(MASKED(avx512_merge_sparse, zmm, "vmovdqa32 zmm0%{k1%}, zmm13")) \
    ROW(SERIAL(avx128_vshift, xmm, "vpsrlvd xmm0, xmm0, xmm13")) \
    ROW(SERIAL(avx256_vshift, ymm, "vpsrlvd ymm0, ymm0, ymm13")) \
    ROW(SERIAL(avx512_vshift, zmm, "vpsrlvd zmm0, zmm0, zmm13")) \
    ROW(PARALLEL(avx128_vshift_t, xmm, "vpsrlvd xmm\\n, xmm\\n, xmm13")) \
    ROW(PARALLEL(avx256_vshift_t, ymm, "vpsrlvd ymm\\n, ymm\\n, ymm13")) \
    ROW(PARALLEL(avx512_vshift_t, zmm, "vpsrlvd zmm\\n, zmm\\n, zmm13")) \
    ROW(SERIAL(avx128_vlzcnt, xmm, "vplzcntd xmm0, xmm0")) \
    ROW(SERIAL(avx256_vlzcnt, ymm, "vplzcntd ymm0, ymm0")) \
    ROW(SERIAL(avx512_vlzcnt, zmm, "vplzcntd zmm0, zmm0")) \
    ROW(PARALLEL(avx128_vlzcnt_t, xmm, "vplzcntd xmm\\n, xmm\\n")) \
    ROW(PARALLEL(avx256_vlzcnt_t, ymm, "vplzcntd ymm\\n, ymm\\n")) \
    ROW(PARALLEL(avx512_vlzcnt_t, zmm, "vplzcntd zmm\\n, zmm\\n")) \
    ROW(SERIAL(avx128_imul, xmm, "vpmuldq xmm0, xmm0, xmm14")) \
    ROW(SERIAL(avx256_imul, ymm, "vpmuldq ymm0, ymm0, ymm14")) \
    ROW(SERIAL(avx512_imul, zmm, "vpmuldq zmm0, zmm0, zmm14")) \
    ROW(SPARSE(avx128_fma_sparse, xmm, "vfmadd213pd xmm0, xmm14, xmm13")) \
    ROW(SPARSE(avx256_fma_sparse, ymm, "vfmadd213pd ymm0, ymm14, ymm13")) \
    ROW(SPARSE(avx512_fma_sparse, zmm, "vfmadd213pd zmm0, zmm14, zmm13")) \
    ROW(SERIAL(avx128_fma, xmm, "vfmadd213pd xmm0, xmm14, xmm13")) \
    ROW(SERIAL(avx256_fma, ymm, "vfmadd213pd ymm0, ymm14, ymm13")) \
    ROW(SERIAL(avx512_fma, zmm, "vfmadd213pd zmm0, zmm14, zmm13")) \
    ROW(PARALLEL(avx128_fma_t, xmm, "vfmadd213pd xmm\\n, xmm14, xmm13")) \
    ROW(PARALLEL(avx256_fma_t, ymm, "vfmadd213pd ymm\\n, ymm14, ymm13")) \
    ROW(PARALLEL(avx512_fma_t, zmm, "vfmadd213pd zmm\\n, zmm14, zmm13")) \
    ROW(SERIAL(avx512_vpermw, zmm, "vpermw zmm0, zmm13, zmm0")) \
    ROW(PARALLEL(avx512_vpermw_t, zmm, "vpermw zmm\\n, zmm13, zmm\\n")) \
    ROW(SERIAL(avx512_vpermd, zmm, "vpermd zmm0, zmm13, zmm0")) \
    ROW(PARALLEL(avx512_vpermd_t, zmm, "vpermd zmm\\n, zmm13, zmm\\n"))

/* Each loop is a function: begin, the loop, end. */
#define ROW_FUNCTION(...) FUNCTION(__VA_ARGS__)
#define FUNCTION(name, ops, begin, body, end) \
    static void name(uint64_t iterations) { \
        __asm__ volatile( \
            "xor eax, eax\n" \
            "mov edx, 1\n" \
            begin \
            ".p2align 6\n" \
            "1:\n" \
            body \
            "dec %[iterations]\n" \
            "jnz 1b\n" \
            "2:\n" \
            end \
            : [iterations] "+r"(iterations) \
            : [zeros] "r"(ZEROS), [ones] "r"(ONES), [dirt] "r"(DIRT) \
            : "rax", "rcx", "rdx", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", \
              "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", \
              "xmm15"); \
    }
LOOPS(ROW_FUNCTION)

#define ROW_ENTRY(...) ENTRY(__VA_ARGS__)
#define ENTRY(name, ops, begin, body, end) {#name, ops, name},
static const struct {
    const char *name;
    uint64_t ops;
    void (*run)(uint64_t iterations);
} TABLE[] = {LOOPS(ROW_ENTRY)};
#define COUNT (sizeof TABLE / sizeof TABLE[0])

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(void) {
    for (size_t loop = 0; loop < COUNT; loop++) {
        printf("%s %lu\n", TABLE[loop].name, TABLE[loop].ops);
    }
    putchar('\n');
    fflush(stdout);
    char line[128];
    while (fgets(line, sizeof line, stdin)) {
        uint64_t loop, iterations, times;
        if (sscanf(line, "%lu %lu %lu", &loop, &iterations, &times) != 3 || loop >= COUNT
            || iterations == 0) {
            fprintf(stderr, "plain: not a request: %s", line);
            return 2;
        }
        for (uint64_t time = 0; time < times; time++) {
            uint64_t begun = now_ns();
            TABLE[loop].run(iterations);
            printf("%lu ", now_ns() - begun);
        }
        putchar('\n');
        fflush(stdout);
    }
    return 0;
}
