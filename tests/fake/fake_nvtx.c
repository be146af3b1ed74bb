#include "fake_nvtx.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

typedef void fn(void);

#define CORE_IDS  16
#define CORE2_IDS 16

static fn *core[CORE_IDS];
static fn *core2[CORE2_IDS];
static fn **core_table[CORE_IDS + 1];
static fn **core2_table[CORE2_IDS + 1];

struct attributes {
    uint16_t version, bytes;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

static int module_table(int module, fn ****table, unsigned *last_id)
{
    *last_id = 15;
    *table = module == 1 ? core_table : core2_table;
    return module == 1 || module == 5;
}

static const struct {
    size_t struct_bytes;
    int (*module_table)(int, fn ****, unsigned *);
} callbacks = { sizeof callbacks, module_table };

static const void *export_table(uint32_t id)
{
    return id == 1 ? &callbacks : NULL;
}

/* Once, at the first call, as NVTX's header does. */
static void load(void)
{
    static int loaded;
    const char *path = getenv("NVTX_INJECTION64_PATH");

    if (loaded++)
        return;
    for (int i = 0; i < CORE_IDS; i++) {
        core_table[i] = &core[i];
        core2_table[i] = &core2[i];
    }
    void *injection = path ? dlopen(path, RTLD_NOW) : NULL;
    if (injection) {
        int (*start)(const void *(*)(uint32_t));
        *(void **)&start = dlsym(injection, "InitializeInjectionNvtx2");
        if (start)
            start(export_table);
    }
}

static void push_wide(const char *op, const char *name)
{
    struct attributes a = { .version = 3, .bytes = sizeof a, .message_type = 3 };
    wchar_t wide[64] = { 0 };

    for (size_t i = 0; i < 63 && name[i]; i++)
        wide[i] = name[i] == '~' ? 0x20ac : (wchar_t)name[i];
    if (!strcmp(op, "wpush") && core[10])
        ((int (*)(const wchar_t *))core[10])(wide);
    if (!strcmp(op, "wdpush") && core2[4] && core2[11]) {
        a.message = ((void *(*)(void *, const wchar_t *))core2[11])(NULL, wide);
        ((int (*)(void *, const struct attributes *))core2[4])(NULL, &a);
    }
}

/* The program's handle for a domain; NULL without a tool that creates it. */
static void *domain_named(const char *name, size_t len)
{
    static char names[4][16];
    static void *handles[4];
    size_t i = 0;

    while (i < 3 && names[i][0] && (strlen(names[i]) != len || memcmp(names[i], name, len) != 0))
        i++;
    if (!names[i][0] && core2[12]) {
        memcpy(names[i], name, len < 15 ? len : 15);
        handles[i] = ((void *(*)(const char *))core2[12])(names[i]);
    }
    return handles[i];
}

void fake_nvtx(const char *op, const char *name)
{
    const char *slash = name ? strchr(name, '/') : NULL; /* a pop has none */
    static uint64_t started;
    struct attributes a = { .version = 3, .bytes = sizeof a, .message_type = 3 };

    if (strcmp(op, "push") != 0 && strcmp(op, "pop") != 0 && strcmp(op, "dpush") != 0 &&
        strcmp(op, "dpop") != 0 && strcmp(op, "start") != 0 && strcmp(op, "end") != 0 &&
        strcmp(op, "mark") != 0 && strcmp(op, "wpush") != 0 && strcmp(op, "wdpush") != 0)
        return;
    load();
    if (op[0] == 'w')
        push_wide(op, name);
    if (!strcmp(op, "push") && core[9])
        ((int (*)(const char *))core[9])(name);
    else if (!strcmp(op, "pop") && core[11])
        ((int (*)(void))core[11])();
    else if (!strcmp(op, "start") && core[5])
        started = ((uint64_t(*)(const char *))core[5])(name);
    else if (!strcmp(op, "end") && core[7])
        ((void (*)(uint64_t))core[7])(started);
    else if (!strcmp(op, "mark") && core[2])
        ((void (*)(const char *))core[2])(name);
    else if (!strcmp(op, "dpush") && core2[4] && core2[10]) {
        void *domain = slash ? domain_named(name, (size_t)(slash - name)) : NULL;
        a.message = ((void *(*)(void *, const char *))core2[10])(domain, slash ? slash + 1 : name);
        ((int (*)(void *, const struct attributes *))core2[4])(domain, &a);
    } else if (!strcmp(op, "dpop") && core2[5]) {
        ((int (*)(void *))core2[5])(*name ? domain_named(name, strlen(name)) : NULL);
    }
}
