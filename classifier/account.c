#include "account.h"

#include <stdlib.h>
#include <string.h>

#include "families.h"
#include "mem.h"
#include "spread.h"
#include "sweep.h"

/* What lives while an account is being made. */
struct making {
    const struct kr_timeline *t;
    const struct kr_tag *tags;
    const struct kr_rules *rules;
    const struct kr_window *window;
    struct kr_account *out;
    struct kr_sweep sweep;
    struct kr_portion *portions; /* room for every site */
    uint32_t *order;             /* event indices by device, then time; NULL with one device */
    size_t *first;               /* by device: its first place in order; one more at the end */
    bool *has_work;              /* by device */
    uint32_t *row_of_site;
    uint64_t *durations; /* of counted events, by row in the order of class, family, name */
    size_t *next;        /* by row: next free place in durations */
};

static int compare_strings(const struct kr_timeline *t, uint32_t a, uint32_t b)
{
    return a == b ? 0 : strcmp(kr_timeline_str(t, a), kr_timeline_str(t, b));
}

/* An order of sites by what they are, so that the same run in another order gives the same bytes.
 */
static int order_sites(const void *user, uint32_t a_id, uint32_t b_id)
{
    const struct kr_timeline *t = user;
    const struct kr_site *a = &t->sites[a_id];
    const struct kr_site *b = &t->sites[b_id];
    int order = compare_strings(t, a->name, b->name);

    if (!order)
        order = compare_strings(t, a->op, b->op);
    if (!order)
        order = compare_strings(t, a->annotation, b->annotation);
    if (!order)
        order = KR_COMPARE(a->graph_id, b->graph_id);
    if (!order)
        order = KR_COMPARE(a->graph_node_id, b->graph_node_id);
    if (!order)
        order = KR_COMPARE(a->bytes, b->bytes);
    if (!order)
        order = KR_COMPARE(a->registers, b->registers);
    if (!order)
        order = KR_COMPARE(a->shared_bytes, b->shared_bytes);
    if (!order)
        order = memcmp(a->grid, b->grid, sizeof a->grid);
    if (!order)
        order = memcmp(a->block, b->block, sizeof a->block);
    if (!order)
        order = KR_COMPARE(t->works[a->work].flop, t->works[b->work].flop);
    return order ? order : KR_COMPARE(t->works[a->work].bytes, t->works[b->work].bytes);
}

static int order_ids(const void *user, uint32_t a_id, uint32_t b_id)
{
    (void)user;
    return KR_COMPARE(a_id, b_id);
}

static bool touches(const struct making *m, const struct kr_event *e)
{
    return kr_sweep_counts(m->window, e->start_ns) ||
           (e->start_ns < m->window->end_ns &&
            kr_end_ns(e->start_ns, e->dur_ns) > m->window->start_ns);
}

static size_t device_of(const struct making *m, const struct kr_event *e)
{
    return m->t->tracks[e->track].device;
}

/* Fills order and first: a counting sort, so time order stays. */
static bool split_by_device(struct making *m, struct kr_err *err)
{
    const struct kr_timeline *t = m->t;
    size_t *next;
    size_t n = 0;

    m->first = kr_xcalloc(t->n_devices + 1, sizeof *m->first, err);
    next = kr_xcalloc(t->n_devices + 1, sizeof *next, err);
    if (!m->first || !next)
        goto fail;
    for (size_t i = 0; i < t->n_events; i++) {
        if (touches(m, &t->events[i]))
            next[device_of(m, &t->events[i])]++;
    }
    for (size_t i = 0; i < t->n_devices; i++) {
        m->first[i] = n;
        n += next[i];
        next[i] = m->first[i];
    }
    m->first[t->n_devices] = n;
    m->order = kr_xcalloc(n, sizeof *m->order, err);
    if (!m->order)
        goto fail;
    for (size_t i = 0; i < t->n_events; i++) {
        if (touches(m, &t->events[i]))
            m->order[next[device_of(m, &t->events[i])]++] = (uint32_t)i;
    }
    free(next);
    return true;
fail:
    free(next);
    return false;
}

static bool find_devices(struct making *m, struct kr_err *err)
{
    const struct kr_timeline *t = m->t;
    size_t n = 0;

    m->has_work = kr_xcalloc(t->n_devices, sizeof *m->has_work, err);
    if (!m->has_work)
        return false;
    for (size_t i = 0; i < t->n_events; i++)
        m->has_work[device_of(m, &t->events[i])] = true;
    for (size_t i = 0; i < t->n_devices; i++)
        n += m->has_work[i];
    m->out->devices = kr_xcalloc(n, sizeof *m->out->devices, err);
    if (!m->out->devices)
        return false;
    return n <= 1 || split_by_device(m, err);
}

static bool prepare_sweep(struct making *m, struct kr_err *err)
{
    const struct kr_timeline *t = m->t;
    static const char *const collective[] = { "collective" };
    struct kr_sweep *s = &m->sweep;
    bool *is_collective;

    s->timeline = t;
    s->window = m->window;
    s->sites = kr_xcalloc(t->n_sites, sizeof *s->sites, err);
    s->steps = kr_xcalloc(m->window->n_steps, sizeof *s->steps, err);
    s->met = kr_xcalloc(t->n_sites, sizeof *s->met, err);
    m->portions = kr_xcalloc(t->n_sites, sizeof *m->portions, err);
    m->out->sites = kr_xcalloc(t->n_sites, sizeof *m->out->sites, err);
    if (!s->sites || !s->steps || !s->met || !m->portions || !m->out->sites)
        return false;
    is_collective = kr_families_mark(m->rules, collective, KR_COUNT(collective), err);
    if (!is_collective)
        return false;
    m->out->n_sites = t->n_sites;
    for (size_t i = 0; i < t->n_sites; i++) {
        s->sites[i].cls = m->tags[i].cls;
        s->sites[i].kind = t->sites[i].kind;
        s->sites[i].collective = is_collective[m->tags[i].family];
    }
    free(is_collective);
    return true;
}

static void set_time(struct kr_time *time, uint64_t wall_ns, uint64_t busy_ns,
                     const uint64_t kind_sum_ns[KR_KIND_COUNT])
{
    time->wall_ns = wall_ns;
    time->busy_ns = busy_ns;
    time->idle_ns = wall_ns - busy_ns;
    time->kernel_sum_ns = kind_sum_ns[KR_KERNEL];
    time->memcpy_sum_ns = kind_sum_ns[KR_MEMCPY];
    time->memset_sum_ns = kind_sum_ns[KR_MEMSET];
}

void kr_time_add(struct kr_time *sum, const struct kr_time *more)
{
    sum->wall_ns += more->wall_ns;
    sum->busy_ns += more->busy_ns;
    sum->idle_ns += more->idle_ns;
    sum->kernel_sum_ns += more->kernel_sum_ns;
    sum->memcpy_sum_ns += more->memcpy_sum_ns;
    sum->memset_sum_ns += more->memset_sum_ns;
}

void kr_stats_add(struct kr_stats *sum, const struct kr_stats *more)
{
    if (more->count && (sum->count == 0 || more->min_ns < sum->min_ns))
        sum->min_ns = more->min_ns;
    if (more->max_ns > sum->max_ns)
        sum->max_ns = more->max_ns;
    sum->count += more->count;
    sum->sum_ns += more->sum_ns;
    sum->exclusive_ns += more->exclusive_ns;
}

static uint64_t window_ns(const struct kr_window *w)
{
    return (uint64_t)w->end_ns - (uint64_t)w->start_ns;
}

/* Sites are rounded per device, and all other rows are sums of whole sites: so all of them add. */
static void close_device(struct making *m, uint32_t device)
{
    const struct kr_sweep *s = &m->sweep;
    struct kr_device_account *d = &m->out->devices[m->out->n_devices++];

    d->device = device;
    set_time(&d->time, window_ns(m->window) - s->paused_ns, s->busy_ns, s->kind_sum_ns);
    kr_time_add(&m->out->time, &d->time);
    d->collective_ns = s->collective_ns;
    d->collective_exposed_ns = s->collective_exposed_ns;
    d->gaps = s->gaps;
    for (size_t i = 0; i < s->n_met; i++)
        m->portions[i] = (struct kr_portion){ s->sites[s->met[i]].share, 0, s->met[i] };
    kr_apportion(m->portions, s->n_met, s->busy_ns, order_sites, m->t);
    for (size_t i = 0; i < s->n_met; i++) {
        const struct kr_portion *portion = &m->portions[i];

        m->out->sites[portion->id].exclusive_ns += portion->ns;
        d->class_exclusive_ns[m->tags[portion->id].cls] += portion->ns;
    }
}

static bool sweep_devices(struct making *m, struct kr_err *err)
{
    const struct kr_timeline *t = m->t;

    for (size_t i = 0; i < t->n_devices; i++) {
        const uint32_t *order = m->order ? m->order + m->first[i] : NULL;
        const size_t n = m->order ? m->first[i + 1] - m->first[i] : t->n_events;

        if (!m->has_work[i])
            continue;
        if (!kr_sweep_device(&m->sweep, order, n, err))
            return false;
        close_device(m, (uint32_t)i);
    }
    for (size_t i = 0; i < t->n_sites; i++) {
        m->out->sites[i].count = m->sweep.sites[i].count;
        m->out->sites[i].sum_ns = m->sweep.sites[i].sum_ns;
    }
    return true;
}

static bool close_steps(struct making *m, struct kr_err *err)
{
    const struct kr_window *w = m->window;
    struct kr_account *a = m->out;

    a->steps = kr_xcalloc(w->n_steps, sizeof *a->steps, err);
    if (!a->steps)
        return false;
    a->n_steps = w->n_steps;
    for (size_t i = 0; i < w->n_steps; i++) {
        const struct kr_sweep_step *from = &m->sweep.steps[i];
        const uint64_t length_ns = (uint64_t)w->steps[i].end_ns - (uint64_t)w->steps[i].start_ns;
        struct kr_portion portions[KR_CLASS_COUNT];

        set_time(&a->steps[i].time, length_ns * a->n_devices - from->paused_ns, from->busy_ns,
                 from->kind_sum_ns);
        a->steps[i].count = from->count;
        a->empty_steps += from->count == 0 && from->paused_ns == 0;
        for (uint32_t cls = 0; cls < KR_CLASS_COUNT; cls++)
            portions[cls] = (struct kr_portion){ from->share[cls], 0, cls };
        kr_apportion(portions, KR_CLASS_COUNT, from->busy_ns, order_ids, NULL);
        for (size_t j = 0; j < KR_CLASS_COUNT; j++)
            a->steps[i].class_exclusive_ns[portions[j].id] = portions[j].ns;
    }
    return true;
}

static int compare_tags(const struct kr_tag *a, const struct kr_tag *b)
{
    if (a->cls != b->cls)
        return KR_COMPARE(a->cls, b->cls);
    if (a->family != b->family)
        return KR_COMPARE(a->family, b->family);
    if (a->origin != b->origin)
        return KR_COMPARE(a->origin, b->origin);
    if (a->flags != b->flags)
        return KR_COMPARE(a->flags, b->flags);
    return KR_COMPARE(a->rule, b->rule);
}

/* Sites of one row side by side, rows of one family and families of one class too. */
static int compare_rows(const void *pa, const void *pb, void *arg)
{
    const struct making *m = arg;
    const uint32_t a = *(const uint32_t *)pa;
    const uint32_t b = *(const uint32_t *)pb;
    const int order = compare_tags(&m->tags[a], &m->tags[b]);

    return order ? order : KR_COMPARE(m->t->sites[a].name, m->t->sites[b].name);
}

/* Groups the sites with any time or count into rows; `met` holds their indices. */
static bool make_rows(struct making *m, uint32_t *met, size_t n_met, struct kr_err *err)
{
    struct kr_account *a = m->out;
    uint64_t largest_ns = 0;

    qsort_r(met, n_met, sizeof *met, compare_rows, m);
    a->kernels_rows = kr_xcalloc(n_met, sizeof *a->kernels_rows, err);
    m->row_of_site = kr_xcalloc(m->t->n_sites, sizeof *m->row_of_site, err);
    if (!a->kernels_rows || !m->row_of_site)
        return false;
    for (size_t i = 0; i < n_met; i++) {
        const struct kr_site *site = &m->t->sites[met[i]];
        const uint64_t exclusive_ns = a->sites[met[i]].exclusive_ns;
        struct kr_row_kernel *row;

        if (i == 0 || compare_rows(&met[i - 1], &met[i], m) != 0) {
            row = &a->kernels_rows[a->n_kernels_rows++];
            *row = (struct kr_row_kernel){ .name = site->name, .op = site->op };
            row->tag = m->tags[met[i]];
            largest_ns = exclusive_ns;
        }
        row = &a->kernels_rows[a->n_kernels_rows - 1];
        if (exclusive_ns > largest_ns ||
            (exclusive_ns == largest_ns && compare_strings(m->t, site->op, row->op) < 0)) {
            row->op = site->op;
            largest_ns = exclusive_ns;
        }
        kr_stats_add(&row->stats, &a->sites[met[i]]);
        m->row_of_site[met[i]] = (uint32_t)(a->n_kernels_rows - 1);
    }
    return true;
}

static bool collect_durations(struct making *m, struct kr_err *err)
{
    const struct kr_timeline *t = m->t;
    size_t n = 0;

    m->next = kr_xcalloc(m->out->n_kernels_rows, sizeof *m->next, err);
    if (!m->next)
        return false;
    for (size_t i = 0; i < m->out->n_kernels_rows; i++) {
        m->next[i] = n;
        n += m->out->kernels_rows[i].stats.count;
    }
    m->durations = kr_xcalloc(n, sizeof *m->durations, err);
    if (!m->durations)
        return false;
    for (size_t i = 0; i < t->n_events; i++) {
        const struct kr_event *e = &t->events[i];

        if (kr_sweep_counts(m->window, e->start_ns))
            m->durations[m->next[m->row_of_site[e->site]]++] = e->dur_ns;
    }
    return true;
}

static void set_spread(struct kr_stats *stats, const uint64_t *durations)
{
    const struct kr_spread spread = kr_spread_of(durations, stats->count);

    stats->min_ns = spread.min;
    stats->median_ns = spread.median;
    stats->max_ns = spread.max;
}

/* Rows still stand in the order of durations: each group's are side by side. */
static bool make_groups(struct making *m, struct kr_err *err)
{
    struct kr_account *a = m->out;
    const uint64_t *durations = m->durations;

    a->families = kr_xcalloc(a->n_kernels_rows, sizeof *a->families, err);
    if (!a->families)
        return false;
    for (size_t i = 0; i < a->n_kernels_rows; i++) {
        struct kr_row_kernel *row = &a->kernels_rows[i];
        const struct kr_tag *tag = &row->tag;

        if (i == 0 || row[-1].tag.cls != tag->cls || row[-1].tag.family != tag->family)
            a->families[a->n_families++] =
                (struct kr_row_family){ .family = tag->family, .cls = tag->cls };
        set_spread(&row->stats, durations);
        durations += row->stats.count;
        kr_stats_add(&a->families[a->n_families - 1].stats, &row->stats);
    }
    durations = m->durations;
    for (size_t i = 0; i < a->n_families; i++) {
        struct kr_row_family *family = &a->families[i];

        set_spread(&family->stats, durations);
        durations += family->stats.count;
        kr_stats_add(&a->classes[family->cls], &family->stats);
    }
    durations = m->durations;
    for (size_t i = 0; i < KR_CLASS_COUNT; i++) {
        set_spread(&a->classes[i], durations);
        durations += a->classes[i].count;
    }
    return true;
}

static int compare_kernel_rows(const void *pa, const void *pb, void *arg)
{
    const struct kr_row_kernel *a = pa;
    const struct kr_row_kernel *b = pb;
    const struct making *m = arg;
    int order = KR_COMPARE(b->stats.exclusive_ns, a->stats.exclusive_ns);

    if (!order)
        order = compare_strings(m->t, a->name, b->name);
    if (!order)
        order = compare_strings(m->t, a->op, b->op);
    return order ? order : compare_tags(&a->tag, &b->tag);
}

static int compare_family_rows(const void *pa, const void *pb, void *arg)
{
    const struct kr_row_family *a = pa;
    const struct kr_row_family *b = pb;
    const struct making *m = arg;
    int order = KR_COMPARE(b->stats.exclusive_ns, a->stats.exclusive_ns);

    if (!order)
        order = strcmp(kr_rules_family(m->rules, a->family), kr_rules_family(m->rules, b->family));
    return order ? order : KR_COMPARE(a->cls, b->cls);
}

static bool count_kinds(struct making *m, struct kr_err *err)
{
    struct kr_account *a = m->out;
    uint64_t by_kind[KR_KIND_COUNT] = { 0 };
    bool *seen = kr_xcalloc(kr_strpool_count(m->t->strings), sizeof *seen, err);

    if (!seen)
        return false;
    for (size_t i = 0; i < a->n_sites; i++) {
        const struct kr_site *site = &m->t->sites[i];

        by_kind[site->kind] += a->sites[i].count;
        if (site->kind == KR_KERNEL && a->sites[i].count && !seen[site->name]) {
            seen[site->name] = true;
            a->distinct_kernels++;
        }
    }
    a->kernels = by_kind[KR_KERNEL];
    a->memcpys = by_kind[KR_MEMCPY];
    a->memsets = by_kind[KR_MEMSET];
    free(seen);
    return true;
}

static bool tabulate(struct making *m, struct kr_err *err)
{
    struct kr_account *a = m->out;
    uint32_t *met = m->sweep.met; /* free again: the devices are done */
    size_t n_met = 0;

    for (uint32_t i = 0; i < a->n_sites; i++) {
        if (a->sites[i].count || a->sites[i].sum_ns)
            met[n_met++] = i;
    }
    if (!make_rows(m, met, n_met, err) || !collect_durations(m, err) || !make_groups(m, err))
        return false;
    qsort_r(a->kernels_rows, a->n_kernels_rows, sizeof *a->kernels_rows, compare_kernel_rows, m);
    qsort_r(a->families, a->n_families, sizeof *a->families, compare_family_rows, m);
    return count_kinds(m, err);
}

static void free_making(struct making *m)
{
    kr_sweep_free(&m->sweep);
    free(m->sweep.sites);
    free(m->sweep.steps);
    free(m->sweep.met);
    free(m->portions);
    free(m->order);
    free(m->first);
    free(m->has_work);
    free(m->row_of_site);
    free(m->durations);
    free(m->next);
}

bool kr_account_make(const struct kr_timeline *t, const struct kr_tag *tags,
                     const struct kr_rules *rules, const struct kr_window *window,
                     struct kr_account *out, struct kr_err *err)
{
    struct making m = { .t = t, .tags = tags, .rules = rules, .window = window, .out = out };
    bool done;

    *out = (struct kr_account){ 0 };
    done = find_devices(&m, err) && prepare_sweep(&m, err) && sweep_devices(&m, err) &&
           close_steps(&m, err) && tabulate(&m, err);
    free_making(&m);
    if (!done)
        kr_account_free(out);
    return done;
}

void kr_account_free(struct kr_account *a)
{
    free(a->families);
    free(a->kernels_rows);
    free(a->sites);
    free(a->devices);
    free(a->steps);
    *a = (struct kr_account){ 0 };
}

bool kr_account_waits(const struct kr_account *a, const struct kr_row_kernel *row)
{
    return row->tag.flags & KR_FLAG_WAITS && row->stats.count > 1 &&
           row->stats.max_ns / KR_WAITS_RATIO >= row->stats.median_ns &&
           row->stats.max_ns >= a->time.wall_ns / KR_WAITS_WALL;
}
