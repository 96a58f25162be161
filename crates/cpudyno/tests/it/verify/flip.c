/* Flips a bit of a vector register in the running loop of another process, as a defect of one core would: in its threads
 * of that name, where they execute the addition of SSE2, in the register that it adds to. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* paddq xmm, xmm: 66 [40-4f] 0f d4 /r (Intel SDM volume 2, PADDQ; REX). The register, or -1. */
static int added_to(const unsigned char *code) {
    int rex = 0;
    if (*code++ != 0x66) return -1;
    if ((*code & 0xf0) == 0x40) rex = *code++;
    if (code[0] != 0x0f || code[1] != 0xd4 || (code[2] & 0xc0) != 0xc0) return -1;
    return ((rex & 4) << 1) | ((code[2] >> 3) & 7);
}

static int flip(pid_t thread, int bit) {
    struct user_regs_struct at;
    struct user_fpregs_struct numbers;
    unsigned char code[8];
    if (ptrace(PTRACE_GETREGS, thread, 0, &at) != 0) return 0;
    errno = 0;
    long word = ptrace(PTRACE_PEEKTEXT, thread, (void *)at.rip, 0);
    if (errno != 0) return 0;
    memcpy(code, &word, sizeof code);
    int to = added_to(code);
    if (to < 0 || ptrace(PTRACE_GETFPREGS, thread, 0, &numbers) != 0) return 0;
    numbers.xmm_space[4 * to + bit / 32] ^= 1u << (bit % 32);
    return ptrace(PTRACE_SETFPREGS, thread, 0, &numbers) == 0;
}

static int is_named(pid_t process, const char *thread, const char *name) {
    char path[300], found[32] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%s/comm", process, thread);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    int is_it = fgets(found, sizeof found, file) != NULL;
    fclose(file);
    found[strcspn(found, "\n")] = 0;
    return is_it && strcmp(found, name) == 0;
}

/* Whether a process has ended, and nobody has asked how. */
static int has_ended(pid_t process) {
    char path[64], state = 'X';
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 1;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 'X';
    fclose(file);
    return state == 'Z' || state == 'X';
}

/* flip PROCESS NAME BIT: until the process ends; prints how often. */
int main(int count, char **words) {
    if (count != 4) return 2;
    pid_t process = atoi(words[1]);
    int bit = atoi(words[3]), flips = 0, refused = 0;
    char tasks[64];
    snprintf(tasks, sizeof tasks, "/proc/%d/task", process);
    while (!has_ended(process) && refused < 100) {
        DIR *folder = opendir(tasks);
        if (folder == NULL) break;
        struct dirent *entry;
        while ((entry = readdir(folder)) != NULL) {
            pid_t thread = atoi(entry->d_name);
            if (thread <= 0 || !is_named(process, entry->d_name, words[2])) continue;
            if (ptrace(PTRACE_SEIZE, thread, 0, 0) != 0) {
                refused += errno == EPERM;
                continue;
            }
            int status;
            if (ptrace(PTRACE_INTERRUPT, thread, 0, 0) == 0 && waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status))
                flips += flip(thread, bit);
            ptrace(PTRACE_DETACH, thread, 0, 0);
        }
        closedir(folder);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    printf("%d %d\n", flips, refused);
    return 0;
}
