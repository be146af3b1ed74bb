#include "accounts.h"

static struct kr_tag tag_of(char letter)
{
    switch (letter) {
    case 'o':
        return (struct kr_tag){ .rule = 1, .family = run_family("gemm"), .cls = KR_OPTIMAL };
    case 'a':
        return (struct kr_tag){ .rule = 2, .family = run_family("norm"), .cls = KR_ADDRESSABLE };
    case 'v':
        return (struct kr_tag){ .rule = 3, .family = run_family("memcpy"), .cls = KR_OVERHEAD };
    case 'c':
        return (struct kr_tag){
            .rule = 4, .family = run_family("collective"), .cls = KR_OPTIMAL, .flags = KR_FLAG_WAITS
        };
    default:
        return (struct kr_tag){ .rule = KR_RULE_NONE, .cls = KR_UNCLASSIFIED };
    }
}

struct kr_tag *tag_by_letter(const struct kr_timeline *t)
{
    struct kr_tag *tags = calloc(t->n_sites ? t->n_sites : 1, sizeof *tags);

    assert_non_null(tags);
    for (size_t i = 0; i < t->n_sites; i++)
        tags[i] = tag_of(kr_timeline_str(t, t->sites[i].name)[0]);
    return tags;
}

struct kr_account account_of(const struct kr_timeline *t, const struct kr_tag *tags,
                             const struct kr_window *w)
{
    struct kr_err err = { 0 };
    struct kr_account a;

    if (!kr_account_make(t, tags, run_rules, w, &a, &err))
        fail_msg("account: %s", err.msg);
    return a;
}

uint64_t sum_gaps_ns(const struct kr_gaps *g)
{
    return g->launch_ns + g->host_ns + g->queued_ns + g->unknown_ns + g->tail_ns;
}
