/* What bench.c and sqlite.c share: the clock, medians, and the queries of a file. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t queries[1 << 20];
static double times[1 << 20];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static double median(size_t count) {
    qsort(times, count, sizeof *times, by_value);
    return times[count / 2];
}

static size_t read_queries(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) exit(2);
    size_t count = fread(queries, 8, sizeof queries / 8, file);
    fclose(file);
    return count;
}
