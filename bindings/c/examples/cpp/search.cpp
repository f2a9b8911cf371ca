// Searches a store from C++17: c++ search.cpp $(pkg-config --cflags --libs fpstore)
//
//     search STORE HEX...
#include <fpstore.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace fps {
struct Error : std::runtime_error {
    Error(fps_status status, const char *text) : std::runtime_error(text), status(status) {}
    fps_status status;
};

inline void check(fps_status status, const char *message) {
    if (status != FPS_OK) throw Error(status, message);
}

struct Close {
    void operator()(fps_store *store) const { fps_close(store); }
    void operator()(fps_searcher *searcher) const { fps_searcher_free(searcher); }
};
using Store = std::unique_ptr<fps_store, Close>;
using Searcher = std::unique_ptr<fps_searcher, Close>;

inline Store open(const std::string &path) {
    fps_store *store = nullptr;
    char message[512];
    check(fps_open(path.c_str(), nullptr, &store, message, sizeof message), message);
    return Store(store);
}

// One searcher for each thread.
inline Searcher searcher(const Store &store) {
    fps_searcher *searcher = nullptr;
    char message[512];
    check(fps_searcher_new(store.get(), &searcher, message, sizeof message), message);
    return Searcher(searcher);
}

}  // namespace fps

int main(int argc, char **argv) try {
    if (argc < 3) {
        std::fprintf(stderr, "usage: search STORE HEX...\n");
        return 2;
    }
    fps::Store store = fps::open(argv[1]);
    fps::Searcher searcher = fps::searcher(store);
    std::vector<uint64_t> needles;
    for (int i = 2; i < argc; i++) needles.push_back(std::strtoull(argv[i], nullptr, 16));

    fps_query query = {};
    query.k = 3;
    query.max_ids = 10;
    fps_batch batch;
    char message[512];
    fps::check(fps_search_many(searcher.get(), needles.data(), needles.size(), &query, &batch, message,
                               sizeof message), message);
    for (size_t i = 0, at = 0; i < batch.query_count; i++) {
        for (; at < batch.hit_ends[i]; at++) {
            const fps_hit &hit = batch.hits[at];
            for (uint32_t id = 0; id < hit.id_count; id++) {
                const fps_id &one = batch.ids[hit.first_id + id];
                std::string text = one.text ? std::string(one.text, one.len) : std::to_string(one.number);
                std::printf("%016" PRIx64 "\t%016" PRIx64 "\t%u\t%s\n", needles[i], hit.fingerprint,
                            hit.distance, text.c_str());
            }
        }
    }
    return batch.hit_count > 0 ? 0 : 1;
} catch (const fps::Error &error) {
    std::fprintf(stderr, "search: %s (%s)\n", error.what(), fps_status_name(error.status));
    return 2;
}
