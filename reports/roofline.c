#include "roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "peaks.h"
#include "predict_warn.h"

/* Clocks may go this far above those that the data sheets' figures are for. */
#define PEAK_SLACK 1.10

/* The last-level cache of no device in the table holds more (MI300X), so the rest is traffic. */
#define CACHE_BYTES (256.0 * 1024 * 1024)

/* Share of a part's time that must have a floor before the part has one. */
#define COVERED_FRAC 0.9

/* Sums of one part over the sites that it owns. */
struct floor {
    double sum_ns;     /* durations */
    double covered_ns; /* of it: at sites with a floor */
    double floor_ns;   /* the least that those could take */
};

/* The peaks of the devices in the window, or NULL when unknown or not all alike. */
static const struct kr_peaks *find_peaks(const struct kr_predict_input *in)
{
    const struct kr_timeline *t = in->timeline;
    const struct kr_peaks *common = NULL;

    for (size_t i = 0; i < in->account->n_devices; i++) {
        uint32_t name = t->devices[in->account->devices[i].device].name;
        const struct kr_peaks *peaks = kr_peaks_find(kr_timeline_str(t, name));

        if (!peaks || (common && peaks != common))
            return NULL;
        common = peaks;
    }
    return common;
}

/* An op's work is that of its main kernel, not of the helpers and copies that it launches too. */
static bool does_the_work(const struct kr_predict_input *in, size_t site)
{
    static const char *const families[] = { "gemm", "gemv", "grouped_gemm", "conv" };
    const struct kr_tag *tag = &in->tags[site];
    const char *family = kr_rules_family(in->rules, tag->family);

    if (in->timeline->sites[site].work == 0 || (tag->flags & KR_FLAG_HELPER))
        return false;
    for (size_t i = 0; i < KR_COUNT(families); i++)
        if (strcmp(family, families[i]) == 0)
            return true;
    return false;
}

/* [flop/s], 0 when unknown. Whether float means TF32 is not recorded: the higher peak holds. */
static double peak_flop(const struct kr_peaks *peaks, const char *dtype)
{
    enum kr_precision precision;

    if (!kr_peaks_precision(dtype, &precision))
        return 0;
    if (precision == KR_FP32 && (peaks->known & 1u << KR_TF32))
        precision = KR_TF32;
    return peaks->known & 1u << precision ? peaks->flop[precision] : 0;
}

/* The least time of one launch [ns]; 0 when nothing is known. */
static double launch_floor_ns(const struct kr_predict_input *in, const struct kr_peaks *peaks,
                              size_t index, bool with_memory)
{
    const struct kr_timeline *t = in->timeline;
    const struct kr_site *site = &t->sites[index];
    double flop_s = 0, bytes = 0, bytes_s;

    if (site->kind == KR_MEMCPY && strstr(kr_timeline_str(t, site->name), "DtoD")) {
        bytes = 2 * (double)site->bytes;
    } else if (does_the_work(in, index)) {
        const struct kr_work *work = &t->works[site->work];
        double peak = peak_flop(peaks, kr_timeline_str(t, work->dtype));

        flop_s = peak > 0 ? work->flop / peak : 0;
        bytes = work->bytes;
    }
    bytes_s = with_memory ? fmax(bytes - CACHE_BYTES, 0) / peaks->bytes : 0;
    return 1e9 * fmax(flop_s, bytes_s) / PEAK_SLACK;
}

static void add_site(const struct kr_predict_input *in, const struct kr_peaks *peaks, size_t index,
                     bool with_memory, struct floor *f)
{
    const struct kr_stats *stats = &in->account->sites[index];
    double all_ns = (double)stats->count * launch_floor_ns(in, peaks, index, with_memory);

    f->sum_ns += (double)stats->sum_ns;
    /* A floor above the measured time means that the work is not what its shapes say. */
    if (all_ns <= 0 || all_ns > (double)stats->sum_ns)
        return;
    f->covered_ns += (double)stats->sum_ns;
    f->floor_ns += all_ns;
}

bool kr_roofline_fill(const struct kr_predict_input *in, const struct kr_sigma_file *sigma,
                      const struct kr_selection *selection, struct kr_predict_result *r,
                      struct kr_err *err)
{
    const struct kr_peaks *peaks = find_peaks(in);
    struct floor *floors;

    if (!peaks)
        return true;
    floors = kr_xcalloc(r->n_parts, sizeof *floors, err);
    if (!floors)
        return false;
    for (size_t i = 0; i < selection->n_sites; i++) {
        uint32_t owner = selection->owner[i];

        if (owner != KR_SELECT_NONE)
            add_site(in, peaks, i, !sigma->entries[owner].is_group, &floors[owner]);
    }
    for (size_t e = 0; e < r->n_parts; e++) {
        const struct floor *f = &floors[e];
        struct kr_predict_part *p = &r->parts[e];

        if (f->floor_ns > 0 && f->covered_ns >= COVERED_FRAC * f->sum_ns)
            p->roofline_sigma = f->covered_ns / f->floor_ns;
        p->above_roofline =
            isfinite(sigma->entries[e].sigma) && sigma->entries[e].sigma > p->roofline_sigma;
    }
    free(floors);
    return true;
}

bool kr_roofline_judge(const struct kr_sigma_file *sigma, bool force, struct kr_predict_result *r,
                       struct kr_err *err)
{
    for (size_t e = 0; e < r->n_parts; e++) {
        const struct kr_sigma_entry *entry = &sigma->entries[e];
        double most = r->parts[e].roofline_sigma;

        if (!r->parts[e].above_roofline)
            continue;
        if (!force)
            return kr_fail(err, KR_EARG,
                           "%s:%zu: entry '%.80s': sigma %.4g is above %.4g, the most that the "
                           "device's peaks allow for the recorded shapes",
                           entry->file, entry->line, entry->label, entry->sigma, most);
        if (!kr_predict_warn(r, err,
                             "%s:%zu: entry '%.80s': sigma %.4g was accepted, though the device's "
                             "peaks allow %.4g at most",
                             entry->file, entry->line, entry->label, entry->sigma, most))
            return false;
    }
    return true;
}
