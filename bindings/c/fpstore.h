/*
 * fpstore.h: search a store of 64-bit fingerprints, read-only.
 *
 *     fps_store *store = NULL;
 *     fps_searcher *searcher = NULL;
 *     char message[256];
 *     if (fps_open("pages.fps", NULL, &store, message, sizeof message) != FPS_OK)
 *         return fail(message);
 *     if (fps_searcher_new(store, &searcher, message, sizeof message) != FPS_OK)
 *         return fail(message);
 *     fps_query query = {.needle = 0xc0f1789bed2eb9b8, .k = 3, .max_ids = 10};
 *     fps_answer answer;
 *     if (fps_search(searcher, &query, &answer, message, sizeof message) != FPS_OK)
 *         return fail(message);
 *     for (size_t i = 0; i < answer.hit_count; i++)
 *         use(answer.hits[i].fingerprint, answer.hits[i].distance);
 *     fps_searcher_free(searcher);
 *     fps_close(store);
 *
 * ERRORS. Every function that can fail returns an fps_status and takes a buffer for the text of the
 * error: `message` with room for `message_len` bytes, both 0 if no text is wanted. The text is
 * UTF-8, cut to the buffer, and always ends with a zero byte; on success the text is empty. After an
 * error, output handles are NULL, output structs are all zero, and nothing has to be freed. A null
 * pointer, a distance above 64 and similar mistakes are FPS_USAGE. No function aborts, exits, throws
 * or prints. A defect inside the library is returned as FPS_PANIC.
 *
 * OWNERSHIP. Handles belong to the caller, who frees them with fps_close and fps_searcher_free;
 * both accept NULL. Arrays in an fps_answer or fps_batch belong to the searcher, valid until the
 * next call with the same searcher. An array without elements is NULL. Constant strings that a
 * function returns are valid for ever.
 *
 * THREADS. A store may be used by any number of threads at once. A searcher is used by one thread at a
 * time; it may move between threads. A searcher can still be used after its store was closed. After a
 * fork, both processes may use handles that were made before the fork.
 *
 * SIGNALS. The library installs no signal handlers and starts no threads during searches. With
 * FPS_ACCESS_MAP, SIGBUS ends the process if another program shortens a store file; fpstore itself
 * shortens only unlinked files. Choose FPS_ACCESS_MEMORY where that must not happen, as in Go and Java,
 * whose runtimes cannot recover.
 *
 * COMPATIBILITY. FPS_ABI changes with every incompatible change, together with the name of the shared
 * library (libfpstore.so.0). Functions and fields can be added without a new FPS_ABI: fps_open_options
 * begins with its size, and fields added to other structs replace reserved fields, which are 0 until
 * then. fps_hit and fps_id, the elements of arrays, do not change. The comment of each function names
 * the release in which the function first appeared.
 */
#ifndef FPSTORE_H
#define FPSTORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FPS_ABI 0

/* A store, possibly shared by threads. */
typedef struct fps_store fps_store;
/* A searcher and the memory of its last answer. */
typedef struct fps_searcher fps_searcher;

typedef enum fps_status {
    FPS_OK = 0,
    FPS_USAGE = 1,       /* an invalid argument */
    FPS_NO_STORE = 2,    /* no store at this path */
    FPS_VERSION = 3,     /* a store of a newer format version */
    FPS_CORRUPT = 4,     /* a damaged store */
    FPS_IO = 5,          /* the system failed to read a file */
    FPS_OTHER = 6,       /* any other error */
    FPS_PANIC = 7        /* a defect of the library */
} fps_status;

typedef enum fps_access {
    FPS_ACCESS_AUTO = 0,  /* a map, or memory on a network file system if the store is small */
    FPS_ACCESS_MAP = 1,   /* a memory map: opens at once, needs no memory of its own */
    FPS_ACCESS_MEMORY = 2 /* all of the store is read into memory first */
} fps_access;

typedef enum fps_warmth {
    FPS_WARM_NONE = 0, /* nothing is read ahead */
    FPS_WARM_HOT = 1,  /* the parts that every query needs */
    FPS_WARM_ALL = 2   /* all of the store */
} fps_warmth;

/* The limit that cut an answer; 0 for a complete answer. */
typedef enum fps_cut {
    FPS_COMPLETE = 0,
    FPS_CUT_LIMIT = 1,    /* limit: the hits are the nearest, and there are more */
    FPS_CUT_COMPARED = 2, /* max_compared: any hits can be missing, also nearer ones */
    FPS_CUT_TIME = 3      /* timeout_us: the same */
} fps_cut;

/* Options of fps_open. Set `size` to sizeof(fps_open_options), the rest to 0 for defaults. */
typedef struct fps_open_options {
    size_t size;
    uint32_t access; /* an fps_access */
    uint32_t warm;   /* an fps_warmth: what is read and verified before fps_open returns */
} fps_open_options;

/* Facts about the current snapshot of a store. Fields of later releases replace `reserved`. */
typedef struct fps_info {
    uint64_t generation;        /* the number of changes that the store has had */
    uint64_t fingerprint_count; /* stored fingerprints, deleted ones excluded */
    uint64_t id_count;          /* stored ids, repeated ones included, deleted ones not */
    uint64_t file_len;          /* bytes of all files */
    uint32_t bits;              /* bits of each fingerprint, 8 to 64 */
    uint32_t tuned_k;           /* the distance for which the store is fastest */
    uint32_t segment_count;
    uint32_t sketch_len;        /* bytes of the sketch of each id, 0 without sketches */
    uint8_t store_id[16];
    uint64_t reserved[4];       /* 0 */
} fps_info;

/* A query. All limits are optional: 0 sets no limit. */
typedef struct fps_query {
    uint64_t needle;       /* the fingerprint; fps_search_many ignores it */
    uint32_t k;            /* the distance in bits, inclusive, 0 to 64 */
    uint32_t max_ids;      /* ids returned for each hit; 0 returns none */
    uint64_t limit;        /* the largest number of hits, nearest first */
    uint64_t max_compared; /* the largest number of stored fingerprints to compare */
    uint64_t timeout_us;   /* the longest time, in microseconds */
    uint64_t reserved[2];  /* 0 */
} fps_query;

/* A stored fingerprint within the distance. Its ids are `ids[first_id]` and the following `id_count`. */
typedef struct fps_hit {
    uint64_t fingerprint;
    uint64_t first_id;
    uint32_t id_count; /* returned ids, at most max_ids */
    uint32_t distance;
} fps_hit;

/* A document id: UTF-8 text of `len` bytes, not zero-terminated, or a number if `text` is NULL. */
typedef struct fps_id {
    const char *text;
    size_t len;
    uint64_t number;
} fps_id;

/* An answer. Hits are sorted by distance, ties by fingerprint. */
typedef struct fps_answer {
    const fps_hit *hits;
    size_t hit_count;
    const fps_id *ids;
    size_t id_count;
    uint64_t generation;  /* the generation of the searched snapshot */
    uint32_t cut;         /* an fps_cut */
    uint32_t reserved_word;
    uint64_t reserved[2]; /* 0 */
} fps_answer;

/* The answers of many queries: the hits of query `i` are `hits[i ? hit_ends[i - 1] : 0]` up to, and not
 * including, `hits[hit_ends[i]]`. */
typedef struct fps_batch {
    const uint64_t *hit_ends; /* one for each query */
    size_t query_count;
    const fps_hit *hits;
    size_t hit_count;
    const fps_id *ids;
    size_t id_count;
    const uint8_t *cuts;      /* an fps_cut for each query */
    uint64_t cut_count;       /* answers that a limit cut */
    uint64_t generation;      /* the generation of the searched snapshot */
    uint64_t reserved[2];     /* 0 */
} fps_batch;

/* The FPS_ABI of the library; compare it with FPS_ABI of this header. Since 0.1. */
uint32_t fps_abi(void);

/* The version of the library, such as "0.1.0". Since 0.1. */
const char *fps_version(void);

/* The name of a status, such as "FPS_CORRUPT". Since 0.1. */
const char *fps_status_name(fps_status status);

/* Opens the store at `path`, in the encoding of file names of the system (UTF-8 on Windows). `options`
 * may be NULL. The caller frees `*store` with fps_close. Since 0.1. */
fps_status fps_open(const char *path, const fps_open_options *options, fps_store **store,
                    char *message, size_t message_len);

/* Frees a store. Its searchers can still be used and keep the last snapshot. Since 0.1. */
void fps_close(fps_store *store);

/* Makes later searches use the newest snapshot of the store; the part `warm` of it is read and
* verified first. Sets `*is_new`, which may be NULL, to 1 if the snapshot changed, else to 0. After
* an error the store keeps its snapshot. Without a change the call takes about a microsecond: one
* system call. Since 0.1. */
fps_status fps_refresh(const fps_store *store, fps_warmth warm, int *is_new, char *message,
                       size_t message_len);

/* Reads the part `warm` of the store into memory, as far as it fits, and verifies its checksums.
* Sets `*left_out`, which may be NULL, to the number of pages of 4096 bytes that do not fit.
* Since 0.1. */
fps_status fps_warm(const fps_store *store, fps_warmth warm, uint64_t *left_out, char *message,
                    size_t message_len);

/* Fills `*info`. Since 0.1. */
fps_status fps_get_info(const fps_store *store, fps_info *info, char *message, size_t message_len);

/* The expected time of a search within `k` bits with data in memory, in nanoseconds. It helps to choose
 * between a direct call and a worker thread. Since 0.1. */
fps_status fps_expected_nanos(const fps_store *store, uint32_t k, double *nanos, char *message,
                              size_t message_len);

/* Makes a searcher, which follows every refresh of its store. The caller frees it with fps_searcher_free.
 * Since 0.1. */
fps_status fps_searcher_new(const fps_store *store, fps_searcher **searcher, char *message,
                            size_t message_len);

/* Frees a searcher and its last answer. Since 0.1. */
void fps_searcher_free(fps_searcher *searcher);

/* Finds all stored fingerprints within query->k bits of query->needle. Since 0.1. */
fps_status fps_search(fps_searcher *searcher, const fps_query *query, fps_answer *answer,
                      char *message, size_t message_len);

/* Finds the `count` nearest fingerprints within query->k bits. At equal distances, smaller fingerprints
 * come first. Since 0.1. */
fps_status fps_nearest(fps_searcher *searcher, const fps_query *query, size_t count,
                       fps_answer *answer, char *message, size_t message_len);

/* Searches for each of `count` needles as fps_search does; query->needle is ignored, and limits
* hold for each needle. All needles are searched in the same snapshot. Since 0.1. */
fps_status fps_search_many(fps_searcher *searcher, const uint64_t *needles, size_t count,
                           const fps_query *query, fps_batch *batch, char *message,
                           size_t message_len);

/* Finds the fingerprints stored with a document id: `len` bytes of UTF-8; a number is spelled in
 * decimal. Hits have distance 0 and no ids. A store has no index of ids, so this reads all ids.
 * Since 0.1. */
fps_status fps_find_id(fps_searcher *searcher, const char *id, size_t len, fps_answer *answer,
                       char *message, size_t message_len);

#ifdef __cplusplus
}
#endif
#endif
