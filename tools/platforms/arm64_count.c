/* A plugin of qemu-aarch64: counts the instructions from each entry of a function to its return,
   its callees and all threads included. tools/platforms/arm64.sh builds and uses it.

   No package contains the header of the plugin interface, so the required declarations are copied
   here, from version 1 (https://www.qemu.org/docs/master/devel/tcg-plugins.html). */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*translated_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*executed_cb)(unsigned int vcpu, void *data);
typedef void (*exit_cb)(qemu_plugin_id_t id, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translated_cb callback);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, executed_cb callback, int flags, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_cb callback, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t number);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *insn);
void qemu_plugin_outs(const char *text);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static const uint32_t RET = 0xd65f03c0;

/* A translated block: instructions without a branch between them. */
struct run {
    uint64_t length;
    int inside; /* It is part of the function, not of a callee. */
    int returns;
};

static const char *function = "";
static uint64_t counted;
static int active;

static void executed(unsigned int vcpu, void *data)
{
    const struct run *run = data;
    (void)vcpu;
    active |= run->inside;
    if (active)
        __atomic_fetch_add(&counted, run->length, __ATOMIC_RELAXED);
    if (run->inside && run->returns)
        active = 0;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    struct run *run = calloc(1, sizeof *run); /* Lives as long as the translation may. */
    (void)id;
    if (run == NULL)
        abort();
    run->length = qemu_plugin_tb_n_insns(tb);
    struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, run->length - 1);
    const char *symbol = qemu_plugin_insn_symbol(last);
    run->inside = symbol != NULL && strstr(symbol, function) != NULL;
    run->returns = qemu_plugin_insn_size(last) == sizeof RET &&
                   memcmp(qemu_plugin_insn_data(last), &RET, sizeof RET) == 0;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, 0, run);
}

static void finished(qemu_plugin_id_t id, void *data)
{
    char line[80];
    (void)id;
    (void)data;
    snprintf(line, sizeof line, "%llu instructions\n", (unsigned long long)counted);
    qemu_plugin_outs(line);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
                                                               char **argv)
{
    static const char option[] = "function=";
    (void)info;
    for (int number = 0; number < argc; number++)
        if (strncmp(argv[number], option, sizeof option - 1) == 0)
            function = argv[number] + sizeof option - 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finished, NULL);
    return 0;
}
