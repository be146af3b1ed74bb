/* Prints what a .kreach file says, for scripts that test the writer on a GPU. One key=value a line.
 */
#include "kreach_read.h"

#include <inttypes.h>
#include <stdio.h>

static struct read_file file;

static void dump(const char *path)
{
    printf("file=%s\nok=%d\ntorn=%d\nwhy=%s\n", path, file.ok, file.torn, file.why);
    printf("sections=%u\nends=%u\nend=%" PRIu64 "\nend_detail=%s\n", file.sections, file.ends,
           file.end, file.end_detail);
    printf("pid=%" PRIu64 "\nrun=%s\nbytes=%" PRIu64 "\nevent_bytes=%" PRIu64 "\n", file.pid,
           file.run_id, file.bytes, file.event_bytes);
    printf("kernels=%" PRIu64 "\nmemcpys=%" PRIu64 "\nmemsets=%" PRIu64 "\ngraphs=%" PRIu64 "\n",
           file.kernels, file.memcpys, file.memsets, file.graphs);
    printf("launches=%" PRIu64 "\nranges=%" PRIu64 "\ngaps=%" PRIu64 "\nclocks=%" PRIu64 "\n",
           file.launches, file.range_rows, file.gap_rows, file.clocks);
    printf("names=%" PRIu64 "\nsites=%" PRIu64 "\ntracks=%" PRIu64 "\ndevices=%" PRIu64 "\n",
           file.n_names, file.n_sites, file.n_tracks, file.n_devices);
    printf("span_ns=%" PRId64 "\n", file.last_ns - file.first_ns);
    for (unsigned i = 0; i < file.n_lost; i++)
        printf("lost.%" PRIu64 "=%" PRIu64 " %s\n", file.lost[i].kind, file.lost[i].count,
               file.lost[i].detail);
    for (unsigned i = 0; i < file.n_gaps; i++)
        printf("gap.%" PRIu64 "=%" PRId64 "..%" PRId64 " %s\n", file.gaps[i].kind,
               file.gaps[i].from_ns, file.gaps[i].to_ns, file.gaps[i].detail);
    for (unsigned i = 0; i < 16; i++) {
        if (file.totals[i])
            printf("total.%u=%" PRIu64 "\n", i, file.totals[i]);
    }
    for (unsigned i = 0; i < READ_DEVICES_MAX; i++) {
        if (file.per_device[i])
            printf("device.%u=%" PRIu64 " %s\n", i, file.per_device[i], file.device_name[i]);
    }
    for (uint64_t i = 1; i < file.n_names && i < READ_NAMES_MAX; i++)
        printf("name.%" PRIu64 "=%" PRIu64 " %" PRIu64 " %s\n", i, file.by_name[i],
               file.dur_by_name[i], file.names[i]);
    printf("%s", file.info);
}

int main(int argc, char **argv)
{
    int status = 0;

    for (int i = 1; i < argc; i++) {
        if (!kreach_read(argv[i], &file)) {
            fprintf(stderr, "kreach_dump: '%s' is no .kreach file\n", argv[i]);
            status = 1;
            continue;
        }
        dump(argv[i]);
        status |= file.ok ? 0 : 2;
    }
    return status;
}
