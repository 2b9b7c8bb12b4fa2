// Writes down every kernel of a program, with its times on the GPU. The CUDA driver loads this library into each process
// that uses it, because CUDA_INJECTION64_PATH names it. Activity records of CUPTI need no privilege, unlike counters.
// CUPTI's headers are not needed: `functions/activity.py` says where the fields of a record lie.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNEL = 10, FORCED = 1, BUFFER_BYTES = 8 << 20 };

static FILE *out;
static pid_t owner;
static int (*next)(uint8_t *, size_t, uint8_t **);
static int (*flush)(uint32_t);

static void request(uint8_t **buffer, size_t *size, size_t *most) {
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *most = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    uint8_t *record = NULL;
    while (valid && !next(buffer, valid, &record)) {
        uint32_t kind;
        uint64_t times[2];
        int32_t sizes[8];
        uint16_t registers;
        const char *name;
        memcpy(&kind, record, sizeof kind);
        if (kind != KERNEL) continue;
        memcpy(&registers, record + 6, sizeof registers);
        memcpy(times, record + 16, sizeof times);
        memcpy(sizes, record + 52, sizeof sizes);
        memcpy(&name, record + 104, sizeof name);
        fprintf(out, "%llu %llu %d %d %d %d %d %d %d %d %u %s\n", (unsigned long long)times[0],
                (unsigned long long)times[1], sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6],
                sizes[7], registers, name ? name : "?");
    }
    fflush(out);
    free(buffer);
}

static void end(void) {
    if (getpid() == owner) flush(FORCED);
}

// Returns the CUPTI that the program has loaded already, or the one that prof found: two in one process disturb each other.
static void *find_cupti(void) {
    char name[32];
    for (int version = 20; version >= 11; version--) {
        snprintf(name, sizeof name, "libcupti.so.%d", version);
        void *found = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
        if (found) return found;
    }
    return dlopen(getenv("PROF_CUPTI"), RTLD_NOW | RTLD_GLOBAL);
}

int InitializeInjection(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.kernels", getenv("PROF_KERNELS"), getpid());
    void *cupti = find_cupti();
    out = fopen(path, "w");
    if (!out) return 1;
    if (!cupti) return fprintf(out, "! %s\n", dlerror()), fflush(out), 1;
    int (*listen)(void *, void *) = dlsym(cupti, "cuptiActivityRegisterCallbacks");
    int (*enable)(uint32_t) = dlsym(cupti, "cuptiActivityEnable");
    next = dlsym(cupti, "cuptiActivityGetNextRecord");
    flush = dlsym(cupti, "cuptiActivityFlushAll");
    int (*explain)(int, const char **) = dlsym(cupti, "cuptiGetResultString");
    int failed = listen && enable && next && flush && explain ? listen(request, complete) : -1;
    if (!failed) failed = enable(KERNEL);
    const char *reason = "it lacks a function";
    if (failed > 0) explain(failed, &reason);
    if (failed) return fprintf(out, "! CUPTI refuses to listen: %s\n", reason), fflush(out), 1;
    owner = getpid();
    atexit(end);
    return 1;
}
