#include "cap_nvtx.h"

#include "cap_calibrate.h"
#include "cap_keep.h"
#include "cap_session.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

/* NVTX's interface for tools (nvtx3/nvtxDetail/nvtxTypes.h), as far as we use it. */
enum { EXPORT_TABLE_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum {
    CORE_MARK_EX = 1,
    CORE_MARK_A = 2,
    CORE_MARK_W = 3,
    CORE_START_EX = 4,
    CORE_START_A = 5,
    CORE_START_W = 6,
    CORE_END = 7,
    CORE_PUSH_EX = 8,
    CORE_PUSH_A = 9,
    CORE_PUSH_W = 10,
    CORE_POP = 11,
    CORE2_MARK_EX = 1,
    CORE2_START_EX = 2,
    CORE2_END = 3,
    CORE2_PUSH_EX = 4,
    CORE2_POP = 5,
    CORE2_REGISTER_STRING_A = 10,
    CORE2_REGISTER_STRING_W = 11,
    CORE2_DOMAIN_CREATE_A = 12,
    CORE2_DOMAIN_CREATE_W = 13,
};
enum { MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3 };

typedef void nvtx_fn(void);

struct nvtx_callbacks {
    size_t struct_bytes;
    int (*module_table)(int module, nvtx_fn ****table, unsigned *last_id);
};

struct nvtx_attributes {
    uint16_t version, bytes;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

enum range_kind { PUSH_POP = 0, START_END = 1, MARK = 2 };

#define NODES      (1u << 15)
#define MANY       (NODES / 4) /* finished ranges that should be collected before the next flush */
#define NO_NODE    UINT32_MAX
#define NAME_BYTES 104

/* A range from its beginning until the worker has written it. */
struct node {
    _Atomic uint32_t next; /* in the free list or the list of finished ones */
    uint32_t below;        /* the enclosing range of the thread, whatever its domain */
    const void *domain;    /* of a pushed range; NULL = the default domain */
    uint32_t thread;
    uint32_t forks; /* how many had been when it began */
    uint8_t kind, name_len;
    bool opens_window;
    bool kept;             /* is part of the recording */
    _Atomic uint32_t live; /* 1 between start and end: a second end is ignored */
    int64_t start_ns;      /* REALTIME */
    uint64_t dur_ns;
    char name[NAME_BYTES];
};

static struct node *nodes;
static _Atomic uint64_t free_nodes = NO_NODE; /* tag << 32 | index */
static _Atomic uint64_t finished = NO_NODE;   /* how many << 32 | the newest */
static _Atomic uint64_t ranges_lost;          /* no node was free */
static _Atomic int32_t window_depth;          /* open ranges with the window's name */
static _Atomic uint32_t forks;                /* of this process's ancestors and its own birth */
static struct cap_opts opts;                  /* as at the program's first range */

/* initial-exec: three words fit where even a late dlopen finds room. */
#define PER_THREAD static __thread __attribute__((tls_model("initial-exec")))
PER_THREAD uint32_t top = NO_NODE;
PER_THREAD uint32_t depth;     /* open push ranges of this thread */
PER_THREAD uint32_t untracked; /* of them, the innermost without a node */

bool cap_nvtx_wanted(void)
{
    const char *text = getenv("KREACH_OPTIONS");

    return text && (strstr(text, "nvtx") || strstr(text, "range=") || strstr(text, "calibrate"));
}

static void push_node(uint32_t index)
{
    uint64_t head = atomic_load(&free_nodes);

    do {
        atomic_store(&nodes[index].next, (uint32_t)head);
    } while (!atomic_compare_exchange_weak(&free_nodes, &head, ((head >> 32) + 1) << 32 | index));
}

static uint32_t pop_node(void)
{
    uint64_t head = atomic_load(&free_nodes);

    do {
        if ((uint32_t)head == NO_NODE)
            return NO_NODE;
    } while (!atomic_compare_exchange_weak(
        &free_nodes, &head, ((head >> 32) + 1) << 32 | atomic_load(&nodes[(uint32_t)head].next)));
    return (uint32_t)head;
}

static uint32_t begin(enum range_kind kind, const char *name)
{
    const uint32_t index = nodes ? pop_node() : NO_NODE;

    if (index == NO_NODE) {
        atomic_fetch_add(&ranges_lost, 1);
        return NO_NODE;
    }
    struct node *node = &nodes[index];
    node->kind = (uint8_t)kind;
    node->thread = (uint32_t)syscall(SYS_gettid);
    node->name_len = (uint8_t)strnlen(name, NAME_BYTES - 1);
    memcpy(node->name, name, node->name_len);
    node->name[node->name_len] = '\0';
    node->opens_window =
        kind != MARK && opts.range[0] && strncmp(name, opts.range, NAME_BYTES - 1) == 0;
    node->kept = opts.nvtx || node->opens_window;
    atomic_store(&node->live, 1);
    node->forks = atomic_load(&forks);
    if (node->opens_window) {
        atomic_fetch_add(&window_depth, 1);
        cap_window_want(&cap_session, true);
    }
    node->start_ns = cap_clock_ns(CLOCK_REALTIME);
    node->dur_ns = 0;
    if (opts.calibrate && kind != MARK)
        cap_calibrate_begin(node->name, node->name_len, node->thread);
    return index;
}

/* Other threads come and go meanwhile: what is wanted last must be what holds then. */
static void leave_window(void)
{
    bool open = true;

    if (atomic_fetch_sub(&window_depth, 1) != 1)
        return;
    while (open != cap_nvtx_inside()) {
        open = !open;
        cap_window_want(&cap_session, open);
    }
}

static void end(uint32_t index)
{
    struct node *node = &nodes[index];

    if (node->kind != MARK) {
        int64_t now_ns = cap_clock_ns(CLOCK_REALTIME);
        node->dur_ns = now_ns > node->start_ns ? (uint64_t)(now_ns - node->start_ns) : 0;
    }
    if (node->opens_window && node->forks == atomic_load(&forks))
        leave_window();
    if (!cap_session_active() || !node->kept) {
        push_node(index);
        return;
    }
    uint64_t head = atomic_load(&finished);
    do {
        atomic_store(&node->next, (uint32_t)head);
    } while (!atomic_compare_exchange_weak(&finished, &head, ((head >> 32) + 1) << 32 | index));
    if (head >> 32 == MANY)
        cap_wake_up(&cap_session.wake);
}

/* Room for a name of wide characters in UTF-8. */
struct name {
    char copy[NAME_BYTES];
};

/* One character at out, which has room for 4 bytes; returns the end. */
static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | (c >> 18 & 7));
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

static const char *narrow(struct name *name, const wchar_t *wide)
{
    char *out = name->copy;

    for (; wide && *wide && out + 4 < name->copy + sizeof name->copy; wide++)
        out = put_utf8(out, (uint32_t)*wide);
    *out = '\0';
    return name->copy;
}

static const char *message(struct name *name, const struct nvtx_attributes *a)
{
    if (a && a->message && a->message_type == MESSAGE_WIDE)
        return narrow(name, a->message);
    /* Registered strings are ours: their handle is a copy of the text. */
    if (a && a->message &&
        (a->message_type == MESSAGE_ASCII || a->message_type == MESSAGE_REGISTERED))
        return a->message;
    return "";
}

/* Domains nest their ranges apart: a pop ends the innermost one of its own domain. */
static int push(const void *domain, const char *name)
{
    const uint32_t index = untracked ? NO_NODE : begin(PUSH_POP, name ? name : "");

    if (index == NO_NODE) {
        untracked++;
    } else {
        nodes[index].domain = domain;
        nodes[index].below = top;
        top = index;
    }
    return (int)depth++;
}

static int pop(const void *domain)
{
    uint32_t *link = &top;

    if (untracked) {
        untracked--;
        return (int)--depth;
    }
    while (*link != NO_NODE && nodes[*link].domain != domain)
        link = &nodes[*link].below;
    if (*link == NO_NODE)
        return -1;
    const uint32_t index = *link;
    *link = nodes[index].below;
    end(index);
    return (int)--depth;
}

static uint64_t start(const char *name)
{
    const uint32_t index = begin(START_END, name ? name : "");

    return index == NO_NODE ? 0 : (uint64_t)index + 1;
}

static void finish(uint64_t id)
{
    if (id == 0 || id > NODES)
        return;
    struct node *node = &nodes[id - 1];
    if (node->kind == START_END && atomic_exchange(&node->live, 0) == 1)
        end((uint32_t)id - 1);
}

static void mark(const char *name)
{
    const uint32_t index = opts.nvtx ? begin(MARK, name ? name : "") : NO_NODE;

    if (index != NO_NODE)
        end(index);
}

static void mark_ex(const struct nvtx_attributes *a)
{
    struct name name;

    mark(message(&name, a));
}

static void mark_w(const wchar_t *wide)
{
    struct name name;

    mark(narrow(&name, wide));
}

static uint64_t start_ex(const struct nvtx_attributes *a)
{
    struct name name;

    return start(message(&name, a));
}

static uint64_t start_w(const wchar_t *wide)
{
    struct name name;

    return start(narrow(&name, wide));
}

static int push_a(const char *name)
{
    return push(NULL, name);
}

static int push_ex(const struct nvtx_attributes *a)
{
    struct name name;

    return push(NULL, message(&name, a));
}

static int push_w(const wchar_t *wide)
{
    struct name name;

    return push(NULL, narrow(&name, wide));
}

static int pop_default(void)
{
    return pop(NULL);
}

static void domain_mark_ex(void *domain, const struct nvtx_attributes *a)
{
    (void)domain;
    mark_ex(a);
}

static uint64_t domain_start_ex(void *domain, const struct nvtx_attributes *a)
{
    (void)domain;
    return start_ex(a);
}

static void domain_finish(void *domain, uint64_t id)
{
    (void)domain;
    finish(id);
}

static int domain_push_ex(void *domain, const struct nvtx_attributes *a)
{
    struct name name;

    return push(domain, message(&name, a));
}

static int domain_pop(void *domain)
{
    return pop(domain);
}

/* A handle is only compared: a number does, and the domain's name is not recorded. */
static void *create_domain(const void *name)
{
    static _Atomic uintptr_t created;

    (void)name;
    return (void *)(atomic_fetch_add(&created, 1) + 1);
}

/* Programs register each string once and keep it for ever, and so do we. */
static void *register_string(void *domain, const char *text)
{
    const size_t len = text ? strlen(text) : 0;
    char *copy = cap_keep(len + 1);

    (void)domain;
    if (copy && text)
        memcpy(copy, text, len);
    return copy;
}

static void *register_string_w(void *domain, const wchar_t *wide)
{
    struct name name;

    return register_string(domain, narrow(&name, wide));
}

struct hook {
    unsigned id;
    nvtx_fn *fn;
};

static const struct hook core_hooks[] = {
    { CORE_MARK_EX, (nvtx_fn *)mark_ex },   { CORE_MARK_A, (nvtx_fn *)mark },
    { CORE_START_EX, (nvtx_fn *)start_ex }, { CORE_START_A, (nvtx_fn *)start },
    { CORE_MARK_W, (nvtx_fn *)mark_w },     { CORE_START_W, (nvtx_fn *)start_w },
    { CORE_PUSH_W, (nvtx_fn *)push_w },     { CORE_END, (nvtx_fn *)finish },
    { CORE_PUSH_EX, (nvtx_fn *)push_ex },   { CORE_PUSH_A, (nvtx_fn *)push_a },
    { CORE_POP, (nvtx_fn *)pop_default },
};

static const struct hook core2_hooks[] = {
    { CORE2_MARK_EX, (nvtx_fn *)domain_mark_ex },
    { CORE2_START_EX, (nvtx_fn *)domain_start_ex },
    { CORE2_END, (nvtx_fn *)domain_finish },
    { CORE2_PUSH_EX, (nvtx_fn *)domain_push_ex },
    { CORE2_POP, (nvtx_fn *)domain_pop },
    { CORE2_REGISTER_STRING_A, (nvtx_fn *)register_string },
    { CORE2_REGISTER_STRING_W, (nvtx_fn *)register_string_w },
    { CORE2_DOMAIN_CREATE_A, (nvtx_fn *)create_domain },
    { CORE2_DOMAIN_CREATE_W, (nvtx_fn *)create_domain },
};

static bool install(const struct nvtx_callbacks *callbacks, int module, const struct hook *hooks,
                    size_t n)
{
    nvtx_fn ***table = NULL;
    unsigned last_id = 0;

    if (!callbacks->module_table(module, &table, &last_id) || !table)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (hooks[i].id <= last_id && table[hooks[i].id])
            *table[hooks[i].id] = hooks[i].fn;
    }
    return true;
}

/*
 * In the child of a fork only the ranges that its one thread has pushed are still open. It will not
 * end those of others, and if it does, they are not the window's.
 */
static void forget_others(void)
{
    const uint32_t now = atomic_fetch_add(&forks, 1) + 1;
    int32_t windows = 0;

    for (uint32_t i = top; i != NO_NODE; i = nodes[i].below) {
        windows += nodes[i].opens_window && nodes[i].forks == now - 1;
        nodes[i].forks = now;
    }
    atomic_store(&window_depth, windows);
}

static bool make_nodes(void)
{
    static atomic_bool made;

    if (atomic_exchange(&made, true))
        return nodes != NULL;
    nodes = cap_pages(NODES * sizeof *nodes);
    for (uint32_t i = 0; nodes && i < NODES; i++)
        push_node(NODES - 1 - i);
    pthread_atfork(NULL, NULL, forget_others);
    return nodes != NULL;
}

bool cap_nvtx_install(const void *(*get_export_table)(uint32_t))
{
    const struct nvtx_callbacks *callbacks = get_export_table(EXPORT_TABLE_CALLBACKS);

    if (!callbacks || callbacks->struct_bytes < sizeof *callbacks || !make_nodes())
        return false;
    cap_opts_read(&opts);
    const bool core = install(callbacks, MODULE_CORE, core_hooks, CAP_COUNT(core_hooks));
    const bool core2 = install(callbacks, MODULE_CORE2, core2_hooks, CAP_COUNT(core2_hooks));
    return core || core2;
}

uint64_t cap_nvtx_start(const char *name)
{
    const uint64_t id = make_nodes() ? start(name) : 0;

    if (id != 0)
        nodes[id - 1].kept = true;
    return id;
}

void cap_nvtx_finish(uint64_t id)
{
    finish(id);
}

bool cap_nvtx_inside(void)
{
    return atomic_load(&window_depth) > 0;
}

bool cap_nvtx_has_many(void)
{
    return atomic_load(&finished) >> 32 >= MANY;
}

/* Turns the list of finished ranges around: the oldest first. */
static uint32_t take_finished(void)
{
    uint32_t at = (uint32_t)atomic_exchange(&finished, NO_NODE);
    uint32_t oldest = NO_NODE;

    while (at != NO_NODE) {
        const uint32_t next = atomic_load(&nodes[at].next);
        atomic_store(&nodes[at].next, oldest);
        oldest = at;
        at = next;
    }
    return oldest;
}

void cap_nvtx_collect(struct cap_recorder *r, int64_t offset_ns)
{
    uint32_t at = take_finished();

    while (at != NO_NODE) {
        const struct node *node = &nodes[at];
        const uint32_t next = atomic_load(&node->next);
        const struct cap_range range = { .name = node->name,
                                         .name_len = node->name_len,
                                         .thread = node->thread,
                                         .kind = node->kind,
                                         .start_ns = node->start_ns + offset_ns,
                                         .dur_ns = node->dur_ns };
        cap_recorder_range(r, &range);
        cap_calibrate_learn(r, &range);
        push_node(at);
        at = next;
    }
    cap_calibrate_choose(r);
    const uint64_t lost = atomic_exchange(&ranges_lost, 0);
    if (lost > 0)
        cap_recorder_lost(r, KREACH_LOST_MEMORY_CAP, lost, 0, "NVTX ranges: too many at once");
}
