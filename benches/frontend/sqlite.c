/* SQLite: sqlite STORE QUERIES EXTENSION prints the median time in microseconds of a prepared statement with
 * ids, and `nan` for the two other numbers of bench.c. */
#include <sqlite3.h>

#include "bench.h"

static sqlite3 *db;

static void check(int status, int expected) {
    if (status == expected) return;
    fprintf(stderr, "%s\n", sqlite3_errmsg(db));
    exit(2);
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    size_t count = read_queries(argv[2]), sum = 0;
    sqlite3_stmt *statement;
    check(sqlite3_open(":memory:", &db), SQLITE_OK);
    check(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL), SQLITE_OK);
    check(sqlite3_load_extension(db, argv[3], NULL, NULL), SQLITE_OK);
    const char *text = "SELECT id, distance FROM fpstore(?1, ?2, 3)";
    check(sqlite3_prepare_v2(db, text, -1, &statement, NULL), SQLITE_OK);
    check(sqlite3_bind_text(statement, 1, argv[1], -1, SQLITE_STATIC), SQLITE_OK);
    /* The first round reads and verifies the pages of the store, as FPS_WARM_ALL does in bench.c. */
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++) {
            double start = now();
            int status;
            check(sqlite3_bind_int64(statement, 2, (sqlite3_int64)queries[i]), SQLITE_OK);
            while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
                sum += sqlite3_column_text(statement, 0)[0];
                sum += (size_t)sqlite3_column_int(statement, 1);
            }
            check(status, SQLITE_DONE);
            check(sqlite3_reset(statement), SQLITE_OK);
            times[i] = now() - start;
        }
    }
    printf("nan %.3f nan\n", median(count));
    fprintf(stderr, "%zu\n", sum);
    check(sqlite3_finalize(statement), SQLITE_OK);
    return sqlite3_close(db);
}
