#include "verdict.h"

#include <math.h>
#include <stdio.h>

#include "text.h"

const char *kr_worth_name(enum kr_worth worth)
{
    static const char *const names[] = {
        [KR_WORTH_YES] = "worth_it",    [KR_WORTH_LIMITED] = "limited",
        [KR_WORTH_NO] = "not_worth_it", [KR_WORTH_IDLE_FIRST] = "idle_first",
        [KR_WORTH_UNKNOWN] = "unknown",
    };

    return names[worth];
}

static enum kr_worth worth_of(double addressable)
{
    if (addressable >= KR_VERDICT_WORTH_FRAC)
        return KR_WORTH_YES;
    return addressable >= KR_VERDICT_LIMITED_FRAC ? KR_WORTH_LIMITED : KR_WORTH_NO;
}

static enum kr_worth decide(const struct kr_verdict_input *in)
{
    /* Unclassified time may turn out addressable: where that changes the answer, say so. */
    if (worth_of(in->addressable) != worth_of(in->addressable + in->unclassified))
        return KR_WORTH_UNKNOWN;
    if (in->idle >= KR_VERDICT_IDLE_FRAC && in->idle > in->addressable)
        return KR_WORTH_IDLE_FIRST;
    return worth_of(in->addressable);
}

static void say_answer(const struct kr_verdict_input *in, struct kr_verdict *v)
{
    static const char *const answers[] = {
        [KR_WORTH_YES] = "Worth it.",           [KR_WORTH_LIMITED] = "Limited.",
        [KR_WORTH_NO] = "Not worth it.",        [KR_WORTH_IDLE_FIRST] = "Fix idle first.",
        [KR_WORTH_UNKNOWN] = "Cannot say yet.",
    };
    const struct kr_number percent = kr_text_percent(in->addressable);

    snprintf(v->text, sizeof v->text,
             "%s Addressable kernels take %s %% of %s: even infinitely fast ones save at most "
             "%s %% (%s).",
             answers[v->worth], percent.s, in->whole, percent.s, kr_text_gain(v->ceiling_x).s);
}

static void say_why(const struct kr_verdict_input *in, struct kr_verdict *v)
{
    char first[200] = "";
    char family[128] = "";
    char idle[32] = "unknown";

    if (v->worth == KR_WORTH_UNKNOWN)
        snprintf(first, sizeof first, "No rule knows %s %%, which would change the answer. ",
                 kr_text_percent(in->unclassified).s);
    else if (v->worth == KR_WORTH_IDLE_FIRST)
        snprintf(first, sizeof first, "The GPU waits %s %% of the time%s. ",
                 kr_text_percent(in->idle).s,
                 in->idle_is_profiled ? " (profiling inflates this: give the plain step time with "
                                        "--wall)"
                                      : "");
    if (in->top_family)
        snprintf(family, sizeof family, "The largest addressable family is %.60s (%.12s %%). ",
                 in->top_family, kr_text_percent(in->top_family_frac).s);
    if (!isnan(in->idle))
        snprintf(idle, sizeof idle, "%.12s %%", kr_text_percent(in->idle).s);
    snprintf(v->why, sizeof v->why, "%s%sKernels that are optimal already take %s %%; idle is %s.",
             first, family, kr_text_percent(in->optimal).s, idle);
}

struct kr_verdict kr_verdict_decide(const struct kr_verdict_input *in)
{
    struct kr_verdict v = { .worth = KR_WORTH_UNKNOWN, .addressable = in->addressable };

    if (!isfinite(in->addressable)) {
        v.ceiling_x = NAN;
        snprintf(v.text, sizeof v.text, "Cannot say: no device time in the window.");
        return v;
    }
    v.worth = decide(in);
    v.ceiling_x = in->addressable < 1 ? 1 / (1 - in->addressable) : INFINITY;
    say_answer(in, &v);
    say_why(in, &v);
    return v;
}
