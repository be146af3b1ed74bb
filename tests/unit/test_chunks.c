/* Chunks of .kreach files: fields, checksums, and walking over damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chunks.h"
#include "crc32c.h"
#include "kreach_build.h"
#include "mem.h"

/* Check values of RFC 3720 B.4 and of the customary nine digits. */
static void checksums_are_those_of_the_standard(void **state)
{
    uint8_t bytes[32] = { 0 };

    (void)state;
    assert_int_equal(kr_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(kr_crc32c(0, bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(kr_crc32c(0, bytes, sizeof bytes), 0x62a8ab43);
    for (uint8_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i;
    assert_int_equal(kr_crc32c(0, bytes, sizeof bytes), 0x46dd794e);
    assert_int_equal(kr_crc32c(kr_crc32c(0, bytes, 5), bytes + 5, 27), 0x46dd794e);
}

static const struct {
    uint64_t value;
    size_t len;
    const char *bytes;
} varints[] = {
    { 0, 1, "\x00" },
    { 127, 1, "\x7f" },
    { 128, 2, "\x80\x01" },
    { 300, 2, "\xac\x02" },
    { UINT32_MAX, 5, "\xff\xff\xff\xff\x0f" },
    { UINT64_MAX, 10, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" },
};

static void varints_are_seven_bits_a_byte_low_bits_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(varints); i++) {
        struct kr_err err = { 0 };
        struct kr_bytes b = { 0 };
        struct kr_cursor c;

        assert_true(kr_bytes_varint(&b, varints[i].value, &err));
        assert_int_equal(b.len, varints[i].len);
        assert_memory_equal(b.data, varints[i].bytes, b.len);
        c = (struct kr_cursor){ .at = b.data, .end = b.data + b.len };
        assert_true(kr_cursor_varint(&c) == varints[i].value);
        assert_false(c.bad);
        assert_false(kr_cursor_more(&c));
        kr_bytes_free(&b);
    }
}

static void signed_numbers_survive_at_both_ends(void **state)
{
    static const int64_t values[] = { 0, -1, 1, -64, 64, INT64_MAX, INT64_MIN };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(values); i++) {
        struct kr_err err = { 0 };
        struct kr_bytes b = { 0 };
        struct kr_cursor c;

        assert_true(kr_bytes_svarint(&b, values[i], &err));
        c = (struct kr_cursor){ .at = b.data, .end = b.data + b.len };
        assert_true(kr_cursor_svarint(&c) == values[i]);
        assert_int_equal(i == 1 ? b.data[0] : 1, 1); /* -1 is the shortest odd number */
        kr_bytes_free(&b);
    }
}

static const struct {
    const char *why;
    size_t len;
    const char *bytes;
} bad_fields[] = {
    { "nothing", 0, "" },
    { "unfinished", 1, "\x80" },
    { "eleven bytes", 11, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01" },
    { "65 bits", 10, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02" },
};

static void wrong_fields_are_zero_and_remembered(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(bad_fields); i++) {
        const uint8_t *bytes = (const uint8_t *)bad_fields[i].bytes;
        struct kr_cursor c = { .at = bytes, .end = bytes + bad_fields[i].len };

        assert_true(kr_cursor_varint(&c) == 0);
        assert_true(c.bad);
        assert_int_equal(kr_cursor_u8(&c), 0);
        assert_false(kr_cursor_more(&c));
    }
}

static void a_text_longer_than_what_is_left_is_empty(void **state)
{
    static const uint8_t bytes[] = { 4, 'a', 'b', 'c' };
    struct kr_cursor c = { .at = bytes, .end = bytes + sizeof bytes };

    (void)state;
    assert_int_equal(kr_cursor_text(&c).len, 0);
    assert_true(c.bad);
}

static void a_chunk_has_the_documented_bytes(void **state)
{
    static const uint8_t expected[] = {
        'K', 'R', 'C', 'K', 14, 0, 0, 0, 2, 0, 0, 0, /* crc */ 0, 0, 0, 0, 1, 0,
    };
    struct kr_build b = { 0 };
    uint32_t crc;

    (void)state;
    kr_build_chunk(&b, KREACH_END, KR_FIELDS(KR_V(1), KR_T("")));
    assert_int_equal(b.file.len, sizeof expected);
    assert_memory_equal(b.file.data, expected, 12);
    assert_memory_equal(b.file.data + 16, expected + 16, 2);
    crc = kr_crc32c(kr_crc32c(0, expected, 12), expected + 16, 2);
    assert_memory_equal(b.file.data + 12, &crc, sizeof crc);
    kr_build_free(&b);
}

/* What a walk over bytes found. */
struct found {
    size_t chunks, signatures;
    struct kr_chunks walk;
};

static struct found walk(const void *data, size_t len)
{
    struct found f = { 0 };
    struct kr_chunk chunk;

    kr_chunks_start(&f.walk, data, len);
    while (kr_chunks_next(&f.walk, &chunk)) {
        f.signatures += chunk.type == KR_CHUNK_SIGNATURE;
        f.chunks += chunk.type != KR_CHUNK_SIGNATURE;
    }
    return f;
}

/* Three chunks: at 8, 8 + 18, and so on. */
static void build_three(struct kr_build *b)
{
    struct kr_err err = { 0 };

    kr_bytes_put(&b->file, KREACH_SIGNATURE, KREACH_SIGNATURE_BYTES, &err);
    for (int i = 0; i < 3; i++)
        kr_build_chunk(b, KREACH_END, KR_FIELDS(KR_V(1), KR_T("")));
}

static void a_whole_file_has_nothing_to_complain_about(void **state)
{
    struct kr_build b = { 0 };
    struct found f;

    (void)state;
    build_three(&b);
    f = walk(b.file.data, b.file.len);
    assert_int_equal(f.chunks, 3);
    assert_int_equal(f.signatures, 1);
    assert_int_equal(f.walk.damaged, 0);
    assert_false(f.walk.torn);
    kr_build_free(&b);
}

static void a_torn_tail_costs_only_the_torn_chunk(void **state)
{
    struct kr_build b = { 0 };

    (void)state;
    build_three(&b);
    for (size_t len = KREACH_SIGNATURE_BYTES; len < b.file.len; len++) {
        struct found f = walk(b.file.data, len);
        size_t whole = (len - KREACH_SIGNATURE_BYTES) / 18;

        assert_int_equal(f.chunks, whole);
        assert_int_equal(f.walk.damaged, 0);
        assert_int_equal(f.walk.torn, len != KREACH_SIGNATURE_BYTES + whole * 18);
        if (f.walk.torn)
            assert_int_equal(f.walk.torn_at, KREACH_SIGNATURE_BYTES + whole * 18);
    }
    kr_build_free(&b);
}

static void any_wrong_byte_costs_one_chunk_and_is_counted(void **state)
{
    struct kr_build b = { 0 };

    (void)state;
    build_three(&b);
    for (size_t at = 0; at < b.file.len; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            struct found f;
            size_t in_tail = at >= b.file.len - 18;

            b.file.data[at] ^= (uint8_t)(1u << bit);
            f = walk(b.file.data, b.file.len);
            b.file.data[at] ^= (uint8_t)(1u << bit);
            assert_int_equal(f.chunks, at < KREACH_SIGNATURE_BYTES ? 3 : 2);
            assert_int_equal(f.walk.damaged + f.walk.torn, 1);
            assert_true(!f.walk.torn || in_tail);
        }
    }
    kr_build_free(&b);
}

static void garbage_between_chunks_is_skipped(void **state)
{
    struct kr_err err = { 0 };
    struct kr_build b = { 0 };
    struct found f;

    (void)state;
    build_three(&b);
    kr_bytes_put(&b.file, "KRCKgarbage KREACH KR", 21, &err);
    build_three(&b);
    f = walk(b.file.data, b.file.len);
    assert_int_equal(f.chunks, 6);
    assert_int_equal(f.signatures, 2);
    assert_int_equal(f.walk.damaged, 1);
    assert_int_equal(f.walk.first_damaged, KREACH_SIGNATURE_BYTES + 3 * 18);
    kr_build_free(&b);
}

/* Every 16 bytes a header that claims the next megabyte: checked naively that is 64 GB to read. */
static void a_file_of_false_headers_is_read_in_linear_time(void **state)
{
    enum { BYTES = 1 << 21 };
    struct kreach_chunk header = { .magic = KREACH_CHUNK_MAGIC, .payload_bytes = 1 << 20 };
    uint8_t *data = malloc(BYTES);
    struct found f;

    (void)state;
    assert_non_null(data);
    for (size_t at = 0; at < BYTES; at += sizeof header)
        memcpy(data + at, &header, sizeof header);
    f = walk(data, BYTES);
    assert_int_equal(f.chunks, 0);
    assert_int_equal(f.walk.damaged, 1);
    assert_true(f.walk.crc_budget < BYTES);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_those_of_the_standard),
        cmocka_unit_test(varints_are_seven_bits_a_byte_low_bits_first),
        cmocka_unit_test(signed_numbers_survive_at_both_ends),
        cmocka_unit_test(wrong_fields_are_zero_and_remembered),
        cmocka_unit_test(a_text_longer_than_what_is_left_is_empty),
        cmocka_unit_test(a_chunk_has_the_documented_bytes),
        cmocka_unit_test(a_whole_file_has_nothing_to_complain_about),
        cmocka_unit_test(a_torn_tail_costs_only_the_torn_chunk),
        cmocka_unit_test(any_wrong_byte_costs_one_chunk_and_is_counted),
        cmocka_unit_test(garbage_between_chunks_is_skipped),
        cmocka_unit_test(a_file_of_false_headers_is_read_in_linear_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
