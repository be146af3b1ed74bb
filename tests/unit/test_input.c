/* Text from files, pipes and memory, plain or compressed, whole or damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#include "input.h"
#include "mem.h"

enum { ROOM = 1 << 20 };

/* Bytes that grow as pieces are put behind each other. */
struct bytes {
    unsigned char p[ROOM];
    size_t len;
};

static void put(struct bytes *b, const void *data, size_t len)
{
    assert_true(b->len + len <= sizeof b->p);
    memcpy(b->p + b->len, data, len);
    b->len += len;
}

static void put_gzip(struct bytes *b, const void *data, size_t len)
{
    z_stream z = { 0 };

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)len;
    z.next_out = b->p + b->len;
    z.avail_out = (uInt)(sizeof b->p - b->len);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    b->len = sizeof b->p - z.avail_out;
    deflateEnd(&z);
}

static void put_zstd(struct bytes *b, const void *data, size_t len)
{
    size_t n = ZSTD_compress(b->p + b->len, sizeof b->p - b->len, data, len, 3);

    assert_false(ZSTD_isError(n));
    b->len += n;
}

/* Text that no codec makes very small. */
static void fill_text(char *text, size_t len)
{
    uint32_t x = 1;

    for (size_t i = 0; i < len; i++) {
        x = x * 1664525 + 1013904223;
        text[i] = (char)('a' + (x >> 24) % 16);
    }
}

/* All text of an input, read `step` bytes at a time. */
static bool read_text(struct kr_input *in, size_t step, struct bytes *out, struct kr_err *err)
{
    size_t got = 1;

    out->len = 0;
    while (got) {
        assert_true(out->len + step <= sizeof out->p);
        if (!kr_input_read(in, out->p + out->len, step, &got, err))
            return false;
        out->len += got;
    }
    return true;
}

/* Reads packed bytes from memory and expects the text; returns what was met. */
static struct kr_input_state expect(const struct bytes *packed, const char *text, size_t len)
{
    static const size_t steps[] = { 1, 61, 4096, ROOM / 2 };
    static struct bytes out;
    struct kr_input_state state = { 0 };

    for (size_t i = 0; i < KR_COUNT(steps); i++) {
        struct kr_err err = { 0 };
        struct kr_input *in = kr_input_open_mem("m", packed->p, packed->len, &err);

        assert_non_null(in);
        if (!read_text(in, steps[i], &out, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(out.len, len);
        assert_memory_equal(out.p, text, len);
        state = kr_input_state(in);
        kr_input_close(in);
    }
    return state;
}

static char text[100000];

static int make_text(void **state)
{
    (void)state;
    fill_text(text, sizeof text);
    return 0;
}

static void the_compression_is_told_by_content(void **state)
{
    static struct bytes gzip, zstd, plain;

    (void)state;
    gzip.len = zstd.len = plain.len = 0;
    put_gzip(&gzip, text, sizeof text);
    put_zstd(&zstd, text, sizeof text);
    put(&plain, text, sizeof text);
    assert_string_equal(expect(&gzip, text, sizeof text).compression, "gzip");
    assert_string_equal(expect(&zstd, text, sizeof text).compression, "zstd");
    assert_string_equal(expect(&plain, text, sizeof text).compression, "none");
}

static void members_and_frames_are_read_to_the_last(void **state)
{
    static const unsigned char skippable[] = { 0x52, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z' };
    static const char zeros[512];
    static struct bytes gzip, zstd;
    struct kr_input_state met;

    (void)state;
    gzip.len = zstd.len = 0;
    put_gzip(&gzip, text, 60000);
    put_gzip(&gzip, "", 0);
    put_gzip(&gzip, text + 60000, sizeof text - 60000);
    put(&gzip, zeros, sizeof zeros); /* padding of tapes and disks */
    met = expect(&gzip, text, sizeof text);
    assert_false(met.damaged || met.gzip_trailing);
    put(&zstd, skippable, sizeof skippable);
    put_zstd(&zstd, text, 60000);
    put(&zstd, skippable, sizeof skippable);
    put_zstd(&zstd, text + 60000, sizeof text - 60000);
    met = expect(&zstd, text, sizeof text);
    assert_false(met.damaged);
    assert_int_equal(met.input_bytes, zstd.len);
}

static void foreign_bytes_behind_a_gzip_member_are_told(void **state)
{
    static struct bytes gzip;
    struct kr_input_state met;

    (void)state;
    gzip.len = 0;
    put_gzip(&gzip, text, sizeof text);
    put(&gzip, "hello", 5);
    met = expect(&gzip, text, sizeof text);
    assert_true(met.gzip_trailing);
    assert_false(met.damaged);
}

static void a_cut_stream_gives_what_came_before(void **state)
{
    static struct bytes packed, out;

    (void)state;
    for (int zstd = 0; zstd < 2; zstd++) {
        packed.len = 0;
        if (zstd)
            put_zstd(&packed, text, sizeof text);
        else
            put_gzip(&packed, text, sizeof text);
        for (size_t len = 20; len < packed.len; len += packed.len / 9) {
            struct kr_err err = { 0 };
            struct kr_input *in = kr_input_open_mem("m", packed.p, len, &err);

            assert_non_null(in);
            assert_true(read_text(in, 1000, &out, &err));
            assert_true(kr_input_state(in).damaged);
            assert_true(out.len < sizeof text);
            assert_memory_equal(out.p, text, out.len);
            /* zstd gives whole blocks only, and this is one */
            assert_true(zstd || out.len + 5000 > sizeof text * len / packed.len);
            kr_input_close(in);
        }
    }
}

static void a_wrong_checksum_is_damage(void **state)
{
    static struct bytes gzip;
    struct kr_input_state met;

    (void)state;
    gzip.len = 0;
    put_gzip(&gzip, text, sizeof text);
    gzip.p[gzip.len - 6] ^= 1;
    met = expect(&gzip, text, sizeof text);
    assert_true(met.damaged);
}

/* The header of the second block of a zstd frame (RFC 8878, 3.1.1). */
static size_t second_block(const unsigned char *p)
{
    static const size_t content_bytes[] = { 0, 2, 4, 8 };
    bool single = p[4] >> 5 & 1;
    size_t at = 5 + content_bytes[p[4] >> 6]; /* one byte more: a window size, or a short length */

    if (!single || p[4] < 64)
        at++;
    return at + 3 + ((size_t)p[at] | (size_t)p[at + 1] << 8 | (size_t)p[at + 2] << 16) / 8;
}

static void damage_costs_no_block_that_came_before(void **state)
{
    enum { LEN = 300000, BLOCK = 128 << 10 };
    static struct bytes zstd;
    static char large[LEN];
    ZSTD_CCtx *ctx = ZSTD_createCCtx();

    (void)state;
    fill_text(large, LEN);
    ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
    zstd.len = ZSTD_compress2(ctx, zstd.p, sizeof zstd.p, large, LEN);
    ZSTD_freeCCtx(ctx);
    zstd.p[zstd.len - 1] ^= 1;
    assert_true(expect(&zstd, large, LEN).damaged);
    zstd.p[second_block(zstd.p)] |= 6; /* a type of block that is not there */
    assert_true(expect(&zstd, large, BLOCK).damaged);
}

static void a_bomb_is_refused_and_a_dense_text_is_not(void **state)
{
    static struct bytes gzip, out;
    static char zeros[900000];

    (void)state;
    gzip.len = 0;
    put_gzip(&gzip, zeros, sizeof zeros);
    for (uint64_t ratio = 100; ratio <= 2000; ratio += 1900) {
        struct kr_err err = { 0 };
        struct kr_input *in = kr_input_open_mem("m", gzip.p, gzip.len, &err);
        bool ok;

        kr_input_set_limits(in, (struct kr_input_limits){ 500000, ratio });
        ok = read_text(in, 10000, &out, &err);
        assert_int_equal(ok, ratio == 2000);
        if (!ok) {
            assert_int_equal(err.code, KR_EINPUT);
            assert_in_range(err.offset, 500000, 510000);
            assert_non_null(strstr(err.msg, "inflates more than 100-fold"));
        }
        kr_input_close(in);
    }
}

static void expect_no_input(const char *path, const char *message)
{
    struct kr_err err = { 0 };

    assert_null(kr_input_open(path, &err));
    assert_int_equal(err.code, KR_EINPUT);
    if (!strstr(err.msg, message) || !strstr(err.msg, path))
        fail_msg("%s", err.msg);
}

static void files_that_cannot_be_read_are_named(void **state)
{
    char path[] = "/tmp/kreach-test-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    expect_no_input(path, "is empty");
    expect_no_input("/", "is a directory");
    expect_no_input("/nonexistent/trace.json", "No such file");
    if (geteuid() != 0) { /* root may read all */
        chmod(path, 0);
        expect_no_input(path, "Permission denied");
    }
    unlink(path);
}

static void a_mapped_file_and_memory_lie_open(void **state)
{
    char path[] = "/tmp/kreach-test-XXXXXX";
    int fd = mkstemp(path);
    struct kr_err err = { 0 };
    struct kr_input *in;
    const unsigned char *p;
    size_t len = 0;

    (void)state;
    assert_int_equal(write(fd, text, sizeof text), (ssize_t)sizeof text);
    close(fd);
    in = kr_input_open(path, &err);
    assert_non_null(in);
    p = kr_input_text(in, &len);
    assert_int_equal(len, sizeof text);
    kr_input_forget(in, 50000); /* pages come back when they are looked at */
    assert_memory_equal(p, text, sizeof text);
    kr_input_close(in);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_compression_is_told_by_content),
        cmocka_unit_test(members_and_frames_are_read_to_the_last),
        cmocka_unit_test(foreign_bytes_behind_a_gzip_member_are_told),
        cmocka_unit_test(a_cut_stream_gives_what_came_before),
        cmocka_unit_test(a_wrong_checksum_is_damage),
        cmocka_unit_test(damage_costs_no_block_that_came_before),
        cmocka_unit_test(a_bomb_is_refused_and_a_dense_text_is_not),
        cmocka_unit_test(files_that_cannot_be_read_are_named),
        cmocka_unit_test(a_mapped_file_and_memory_lie_open),
    };

    return cmocka_run_group_tests(tests, make_text, NULL);
}
