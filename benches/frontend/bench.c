/* C and C++: bench STORE QUERIES prints, in microseconds, the median times of a search and of a search with
 * ids, and the shortest time of a batch of 1 000, because other processes disturb batches. */
#include <fpstore.h>
#include <string.h>

#include "bench.h"

int main(int argc, char **argv) {
    char message[256] = "", text[4096];
    fps_store *store;
    fps_searcher *searcher;
    fps_answer answer;
    fps_batch batch;
    fps_open_options options = {sizeof options, FPS_ACCESS_AUTO, FPS_WARM_ALL};
    if (argc < 3) return 2;
    size_t count = read_queries(argv[2]), sum = 0;
    if (fps_open(argv[1], &options, &store, message, sizeof message) != FPS_OK) return 2;
    if (fps_searcher_new(store, &searcher, message, sizeof message) != FPS_OK) return 2;
    fps_query query;
    memset(&query, 0, sizeof query);
    query.k = 3;
    for (uint32_t ids = 0; ids < 20; ids += 10) {
        query.max_ids = ids;
        for (size_t i = 0; i < count; i++) {
            double start = now();
            query.needle = queries[i];
            if (fps_search(searcher, &query, &answer, message, sizeof message) != FPS_OK) return 2;
            for (size_t at = 0; at < answer.hit_count; at++) sum += answer.hits[at].distance;
            for (size_t at = 0; at < answer.id_count; at++) {
                memcpy(text, answer.ids[at].text, answer.ids[at].len);
                sum += (size_t)text[0];
            }
            times[i] = now() - start;
        }
        printf("%.3f ", median(count));
    }
    query.max_ids = 0;
    for (size_t i = 0; i < count / 1000; i++) {
        double start = now();
        if (fps_search_many(searcher, queries + 1000 * i, 1000, &query, &batch, message, sizeof message) != FPS_OK)
            return 2;
        for (size_t at = 0; at < batch.hit_count; at++) sum += batch.hits[at].distance;
        times[i] = now() - start;
    }
    median(count / 1000);
    printf("%.1f\n", times[0]);
    fprintf(stderr, "%zu\n", sum);
    fps_searcher_free(searcher);
    fps_close(store);
    return 0;
}
