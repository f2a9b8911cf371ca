/* Uses every function of fpstore.h and compares the answers with a scan. Compiles as C11 and as C++17.
 *
 *     interface STORE VALUES DAMAGED ROUNDS
 *
 * VALUES is a file of the 64-bit fingerprints of STORE in machine byte order; fingerprint N has the id
 * "page N", counted from 0. DAMAGED is a damaged store. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fpstore.h"

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: not true: %s (%s)\n", __FILE__, __LINE__, \
                    #condition, message);                                     \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

static uint64_t *values;
static size_t value_count;
static size_t rounds;

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint32_t distance(uint64_t one, uint64_t other) {
    return (uint32_t)__builtin_popcountll(one ^ other);
}

static size_t scan(uint64_t needle, uint32_t k) {
    size_t count = 0;
    for (size_t i = 0; i < value_count; i++) count += distance(needle, values[i]) <= k;
    return count;
}

static uint64_t a_needle(uint64_t *state) {
    uint64_t needle = values[next_random(state) % value_count];
    for (uint64_t bits = next_random(state) % 5; bits > 0; bits--)
        needle ^= (uint64_t)1 << next_random(state) % 64;
    return next_random(state) % 8 ? needle : next_random(state);
}

static fps_query query_of(uint64_t needle, uint32_t k) {
    fps_query query;
    memset(&query, 0, sizeof query);
    query.needle = needle;
    query.k = k;
    return query;
}

static void check_answer(const fps_answer *answer, uint64_t needle, const char *message) {
    for (size_t i = 0; i < answer->hit_count; i++) {
        const fps_hit *hit = &answer->hits[i];
        CHECK(hit->distance == distance(needle, hit->fingerprint));
        CHECK(i == 0 || answer->hits[i - 1].distance <= hit->distance);
        CHECK(hit->id_count == 1 && hit->first_id + hit->id_count <= answer->id_count);
        const fps_id *id = &answer->ids[hit->first_id];
        CHECK(id->text != NULL && id->len > 5 && memcmp(id->text, "page ", 5) == 0);
        char digits[24] = {0};
        memcpy(digits, id->text + 5, id->len - 5);
        CHECK(values[strtoul(digits, NULL, 10)] == hit->fingerprint);
    }
}

/* Runs on each search thread, while the main thread refreshes the store. */
static void *search(void *of_store) {
    const fps_store *store = (const fps_store *)of_store;
    char message[200] = "";
    fps_searcher *searcher = NULL;
    fps_answer answer;
    uint64_t state = 20071108 + (uint64_t)(size_t)&searcher;
    CHECK(fps_searcher_new(store, &searcher, message, sizeof message) == FPS_OK);
    for (size_t i = 0; i < rounds; i++) {
        fps_query query = query_of(a_needle(&state), 3);
        query.max_ids = 1;
        CHECK(fps_search(searcher, &query, &answer, message, sizeof message) == FPS_OK);
        CHECK(i % 16 != 0 || answer.hit_count == scan(query.needle, 3));
        check_answer(&answer, query.needle, message);
    }
    fps_searcher_free(searcher);
    return NULL;
}

static size_t resident_pages(void) {
    size_t all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%zu %zu", &all, &resident) != 2) exit(1);
    fclose(file);
    return resident;
}

/* A million calls take no more memory than a thousand calls. */
static void check_growth(fps_searcher *searcher) {
    char message[200] = "";
    fps_answer answer;
    fps_batch batch;
    size_t before = 0;
    for (size_t i = 0; i < 500 * rounds; i++) {
        fps_query query = query_of(values[i % value_count], (uint32_t)(i % 4));
        query.max_ids = 1;
        CHECK(fps_search(searcher, &query, &answer, message, sizeof message) == FPS_OK);
        if (i % 1000 == 0)
            CHECK(fps_search_many(searcher, values, 100, &query, &batch, message, sizeof message) ==
                  FPS_OK);
        if (i == 1000) before = resident_pages();
    }
    CHECK(before == 0 || resident_pages() < before + 256);
}

static void check_mistakes(const char *path, const char *damaged) {
    char message[200] = "";
    char small[8];
    fps_store *store = (fps_store *)&small;
    fps_searcher *searcher = NULL;
    fps_answer answer;
    fps_info info;
    fps_batch batch;
    fps_open_options options;
    fps_query query = query_of(0, 3);
    CHECK(fps_open("no such store", NULL, &store, message, sizeof message) == FPS_NO_STORE);
    CHECK(store == NULL && strstr(message, "no such store") != NULL);
    CHECK(fps_open("no such store", NULL, &store, small, sizeof small) == FPS_NO_STORE);
    CHECK(strlen(small) == 7);
    CHECK(fps_open("no such store", NULL, &store, small, 1) == FPS_NO_STORE && small[0] == 0);
    CHECK(fps_open("no such store", NULL, &store, NULL, 0) == FPS_NO_STORE);
    CHECK(fps_open(NULL, NULL, &store, message, sizeof message) == FPS_USAGE);
    CHECK(fps_open(path, NULL, NULL, message, sizeof message) == FPS_USAGE);
    CHECK(fps_open(damaged, NULL, &store, message, sizeof message) == FPS_CORRUPT && store == NULL);
    memset(&options, 0, sizeof options);
    CHECK(fps_open(path, &options, &store, message, sizeof message) == FPS_USAGE);
    options.size = sizeof options;
    options.access = 3;
    CHECK(fps_open(path, &options, &store, message, sizeof message) == FPS_USAGE);
    options.access = FPS_ACCESS_MEMORY;
    options.warm = FPS_WARM_ALL;
    CHECK(fps_open(path, &options, &store, message, sizeof message) == FPS_OK && store != NULL);
    CHECK(fps_searcher_new(store, NULL, message, sizeof message) == FPS_USAGE);
    CHECK(fps_searcher_new(NULL, &searcher, message, sizeof message) == FPS_USAGE);
    CHECK(fps_searcher_new(store, &searcher, message, sizeof message) == FPS_OK);
    CHECK(fps_search(NULL, &query, &answer, message, sizeof message) == FPS_USAGE);
    CHECK(fps_search(searcher, NULL, &answer, message, sizeof message) == FPS_USAGE);
    CHECK(fps_search(searcher, &query, NULL, message, sizeof message) == FPS_USAGE);
    query.k = 65;
    memset(&answer, 1, sizeof answer);
    CHECK(fps_search(searcher, &query, &answer, message, sizeof message) == FPS_USAGE);
    CHECK(answer.hits == NULL && answer.hit_count == 0 && strstr(message, "65") != NULL);
    query.k = 3;
    query.reserved[1] = 1;
    CHECK(fps_search(searcher, &query, &answer, message, sizeof message) == FPS_USAGE);
    query.reserved[1] = 0;
    CHECK(fps_search_many(searcher, NULL, 1, &query, &batch, message, sizeof message) == FPS_USAGE);
    CHECK(fps_search_many(searcher, NULL, 0, &query, &batch, message, sizeof message) == FPS_OK);
    CHECK(batch.hits == NULL && batch.hit_ends == NULL && batch.query_count == 0);
    CHECK(fps_find_id(searcher, "\xff", 1, &answer, message, sizeof message) == FPS_USAGE);
    CHECK(fps_find_id(searcher, NULL, 1, &answer, message, sizeof message) == FPS_USAGE);
    CHECK(fps_get_info(store, NULL, message, sizeof message) == FPS_USAGE);
    CHECK(fps_get_info(NULL, &info, message, sizeof message) == FPS_USAGE);
    CHECK(fps_warm(store, (fps_warmth)3, NULL, message, sizeof message) == FPS_USAGE);
    CHECK(fps_refresh(NULL, FPS_WARM_NONE, NULL, message, sizeof message) == FPS_USAGE);
    CHECK(fps_expected_nanos(store, 65, NULL, message, sizeof message) == FPS_USAGE);
    CHECK(strcmp(fps_status_name(FPS_CORRUPT), "FPS_CORRUPT") == 0);
    CHECK(strcmp(fps_status_name((fps_status)99), "unknown") == 0);
    fps_close(store);
    /* A searcher can be used after its store was closed. */
    query.needle = values[0];
    CHECK(fps_search(searcher, &query, &answer, message, sizeof message) == FPS_OK);
    CHECK(answer.hit_count == scan(values[0], 3) && answer.ids == NULL);
    fps_searcher_free(searcher);
    fps_searcher_free(NULL);
    fps_close(NULL);
}

int main(int argc, char **argv) {
    char message[200] = "";
    fps_store *store = NULL;
    fps_searcher *searcher = NULL;
    fps_answer answer;
    fps_batch batch;
    fps_info info;
    double nanos = 0;
    int is_new = 7;
    uint64_t left_out = 7;
    pthread_t threads[4];
    uint64_t state = 20071108, needles[100];
    CHECK(argc == 5);
    FILE *file = fopen(argv[2], "rb");
    CHECK(file != NULL);
    values = (uint64_t *)malloc(sizeof(uint64_t) << 20);
    value_count = fread(values, sizeof(uint64_t), (size_t)1 << 20, file);
    fclose(file);
    rounds = strtoul(argv[4], NULL, 10);

    CHECK(fps_abi() == FPS_ABI && strchr(fps_version(), '.') != NULL);
    check_mistakes(argv[1], argv[3]);
    CHECK(fps_open(argv[1], NULL, &store, message, sizeof message) == FPS_OK);
    CHECK(fps_get_info(store, &info, message, sizeof message) == FPS_OK);
    CHECK(info.fingerprint_count == value_count && info.id_count == value_count);
    CHECK(info.bits == 64 && info.generation > 0 && info.file_len > value_count);
    CHECK(fps_expected_nanos(store, 3, &nanos, message, sizeof message) == FPS_OK && nanos > 0);
    CHECK(fps_warm(store, FPS_WARM_HOT, &left_out, message, sizeof message) == FPS_OK);
    CHECK(left_out == 0);
    CHECK(fps_refresh(store, FPS_WARM_ALL, &is_new, message, sizeof message) == FPS_OK);
    CHECK(is_new == 0);
    CHECK(fps_searcher_new(store, &searcher, message, sizeof message) == FPS_OK);

    for (size_t i = 0; i < 50; i++) {
        uint32_t k = (uint32_t)(i % 8);
        fps_query query = query_of(a_needle(&state), i == 49 ? 64 : k);
        size_t expected = scan(query.needle, query.k);
        query.max_ids = 1;
        CHECK(fps_search(searcher, &query, &answer, message, sizeof message) == FPS_OK);
        CHECK(answer.hit_count == expected && answer.cut == FPS_COMPLETE);
        check_answer(&answer, query.needle, message);
        query.limit = 2;
        CHECK(fps_search(searcher, &query, &answer, message, sizeof message) == FPS_OK);
        CHECK(answer.hit_count == (expected < 2 ? expected : 2));
        CHECK(answer.cut == (expected > 2 ? FPS_CUT_LIMIT : FPS_COMPLETE));
        query.limit = 0;
        query.k = 64;
        CHECK(fps_nearest(searcher, &query, 3, &answer, message, sizeof message) == FPS_OK);
        CHECK(answer.hit_count == 3 && scan(query.needle, answer.hits[2].distance) >= 3);
        CHECK(answer.hits[2].distance == 0 ||
              scan(query.needle, answer.hits[2].distance - 1) < 3);
        check_answer(&answer, query.needle, message);
    }
    for (size_t i = 0; i < 100; i++) needles[i] = a_needle(&state);
    fps_query query = query_of(0, 5);
    query.max_ids = 1;
    CHECK(fps_search_many(searcher, needles, 100, &query, &batch, message, sizeof message) == FPS_OK);
    CHECK(batch.query_count == 100 && batch.cut_count == 0 && batch.generation == info.generation);
    for (size_t i = 0; i < 100; i++) {
        size_t begin = i > 0 ? batch.hit_ends[i - 1] : 0;
        CHECK(batch.hit_ends[i] - begin == scan(needles[i], 5));
        for (size_t at = begin; at < batch.hit_ends[i]; at++)
            CHECK(distance(needles[i], batch.hits[at].fingerprint) == batch.hits[at].distance);
        CHECK(batch.cuts[i] == FPS_COMPLETE);
    }
    query.limit = 1;
    CHECK(fps_search_many(searcher, needles, 100, &query, &batch, message, sizeof message) == FPS_OK);
    for (size_t i = 0; i < 100; i++) {
        CHECK(batch.cuts[i] == (scan(needles[i], 5) > 1 ? FPS_CUT_LIMIT : FPS_COMPLETE));
        left_out += batch.cuts[i] != FPS_COMPLETE;
    }
    CHECK(batch.cut_count == left_out && left_out > 0);
    query = query_of(values[0], 40);
    query.max_compared = 10;
    query.limit = 1;
    CHECK(fps_search(searcher, &query, &answer, message, sizeof message) == FPS_OK);
    CHECK(answer.cut == FPS_CUT_COMPARED);
    query.max_compared = 0;
    query.timeout_us = 1;
    CHECK(fps_search(searcher, &query, &answer, message, sizeof message) == FPS_OK);
    CHECK(answer.cut == FPS_CUT_TIME);
    CHECK(fps_find_id(searcher, "page 7", 6, &answer, message, sizeof message) == FPS_OK);
    CHECK(answer.hit_count == 1 && answer.hits[0].fingerprint == values[7]);
    CHECK(fps_find_id(searcher, "page x", 6, &answer, message, sizeof message) == FPS_OK);
    CHECK(answer.hit_count == 0 && answer.hits == NULL);

    check_growth(searcher);

    /* From here on, another process changes the store, but not the set of its fingerprints. */
    puts("threads");
    fflush(stdout);
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, search, store) == 0);
    for (int seen = 0; seen < 5; seen += is_new)
        CHECK(fps_refresh(store, FPS_WARM_NONE, &is_new, message, sizeof message) == FPS_OK);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    fps_searcher_free(searcher);
    fps_close(store);
    free(values);
    puts("done");
    return 0;
}
