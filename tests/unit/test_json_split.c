/* Blocks of text as bits, and the search for an object's end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json_split.h"
#include "mem.h"

enum { MAX_TEXT = 4096 };

static void vectors_and_plain_c_see_the_same_bytes(void **state)
{
    static char text[256 * 64 + 13];
    static struct kr_blocks fast, plain;

    (void)state;
    /* every byte value at every place of a block, and a last block that is not full */
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i / 64 + i % 64);
    for (size_t i = 0; i * 64 < sizeof text; i++) {
        kr_blocks_limit(KR_BLOCKS_PLAIN);
        kr_blocks_start(&plain, text, sizeof text);
        kr_blocks_at(&plain, i);
        for (int way = KR_BLOCKS_SSE2; way <= KR_BLOCKS_AVX512; way++) {
            kr_blocks_limit((enum kr_blocks_way)way);
            kr_blocks_start(&fast, text, sizeof text);
            assert_memory_equal(kr_blocks_at(&fast, i), kr_blocks_at(&plain, i),
                                sizeof(struct kr_block));
        }
    }
    kr_blocks_limit(KR_BLOCKS_AVX512);
}

/* A strict search from `start`, in steps of `step` bytes. */
static enum kr_split_end search(const char *p, size_t len, size_t start, size_t step, size_t *pos)
{
    static struct kr_blocks blocks;
    static uint64_t marks[MAX_TEXT / 64 + 2];
    struct kr_json_text text = { .p = p, .len = len, .last = true };
    struct kr_splitter s = { .pos = start, .blocks = &blocks, .marks = marks };
    enum kr_split_end end = KR_SPLIT_MORE;

    kr_blocks_start(&blocks, p, len);
    for (size_t limit = start + step; end == KR_SPLIT_MORE && s.pos < len; limit += step)
        end = kr_split_strict(&s, &text, limit);
    *pos = s.pos;
    return end;
}

static const char *const objects[] = {
    "{}",
    "{\"a\":1}",
    "{\"a\":{\"b\":{}},\"c\":[{},1,[]]}",
    "{\"brackets in text\":\"}}}]]{[\"}",
    "{\"quote\":\"\\\"}\"}",
    "{\"backslashes\":\"\\\\\",\"c\":\"\\\\\\\\\"}",
    "{\"odd\":\"\\\\\\\"}\",\"d\":\"x\"}",
    "{\"spaces\"  :\n\t\"x\" ,\r\n \"y\" : [ ] }",
    "{\"longer than a block\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
};

static void an_object_ends_at_its_brace_wherever_it_lies_in_a_block(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(objects); i++) {
        size_t len = strlen(objects[i]);

        for (size_t before = 0; before < 130; before++) {
            char text[512];
            size_t pos, all = before + len + 20;

            memset(text, '"', sizeof text); /* what lies around it must not matter */
            memcpy(text + before, objects[i], len);
            text[before + len] = ',';
            for (size_t step = 1; step <= 256; step *= 4) {
                if (search(text, all, before, step, &pos) != KR_SPLIT_END || pos != before + len)
                    fail_msg("%s at %zu by %zu ends at %zu", objects[i], before, step, pos);
            }
        }
    }
}

static void an_unfinished_object_needs_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(objects); i++) {
        size_t pos;

        for (size_t len = 1; len < strlen(objects[i]); len++)
            assert_int_equal(search(objects[i], len, 0, 64, &pos), KR_SPLIT_MORE);
    }
}

static const struct {
    const char *text;
    enum kr_split_end strict;
    struct kr_split_found plain, paths; /* lenient */
} damaged[] = {
    { "{\"a\":\"b \"c\" d\",\"e\":1}, ",
      KR_SPLIT_LOST,
      { KR_SPLIT_END, 21, 2 },
      { KR_SPLIT_END, 21, 2 } },
    { "{\"a\":\"b\"c\",\"e\":1}, ",
      KR_SPLIT_LOST,
      { KR_SPLIT_END, 17, 1 },
      { KR_SPLIT_END, 17, 1 } },
    { "{\"p\":\"C:\\x\\\",\"e\":\"f\"}, ",
      KR_SPLIT_LOST,
      { KR_SPLIT_END, 21, 1 },
      { KR_SPLIT_END, 21, 0 } },
    { "{\"j\":\"{\\\"k\\\":\\\"v\\\"}}\"}, ",
      KR_SPLIT_END,
      { KR_SPLIT_END, 22, 0 },
      { KR_SPLIT_END, 19, 0 } },
    { "{\"a\":\"b,{\"ph\":\"X\"}",
      KR_SPLIT_LOST,
      { KR_SPLIT_LOST, 8, 0 },
      { KR_SPLIT_LOST, 8, 0 } },
    { "{\"a\":\"b \"c\" d", KR_SPLIT_LOST, { KR_SPLIT_MORE, 13, 2 }, { KR_SPLIT_MORE, 13, 2 } },
    { "{\"a\":{\"b\":1,{\"ph\":\"X\"}",
      KR_SPLIT_LOST,
      { KR_SPLIT_LOST, 12, 0 },
      { KR_SPLIT_LOST, 12, 0 } },
    { "{\"a\":[{\"b\":1},{\"ph\":1}]}",
      KR_SPLIT_LOST,
      { KR_SPLIT_END, 24, 0 },
      { KR_SPLIT_END, 24, 0 } },
    { "{\"a\":1 ], \"t\":2}", KR_SPLIT_END, { KR_SPLIT_LOST, 7, 0 }, { KR_SPLIT_LOST, 7, 0 } },
    { "{\"a\":{\"b\":[1,2}}}", KR_SPLIT_END, { KR_SPLIT_END, 16, 0 }, { KR_SPLIT_END, 16, 0 } },
};

static void expect_found(const char *text, struct kr_split_found found, struct kr_split_found want)
{
    if (found.kind != want.kind || found.pos != want.pos || found.repairs != want.repairs)
        fail_msg("%s gives %d at %zu with %u repairs", text, found.kind, found.pos, found.repairs);
}

static void lost_quotes_and_brackets_are_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(damaged); i++) {
        const char *p = damaged[i].text;
        const struct kr_json_text text = { .p = p, .len = strlen(p), .last = true };
        const struct kr_split_how plain = { SIZE_MAX, false, NULL };
        const struct kr_split_how paths = { SIZE_MAX, true, NULL };
        size_t pos;

        if (search(p, text.len, 0, 64, &pos) != damaged[i].strict)
            fail_msg("strict: %s", p);
        expect_found(p, kr_split_lenient(&text, 0, plain), damaged[i].plain);
        expect_found(p, kr_split_lenient(&text, 0, paths), damaged[i].paths);
    }
}

static void both_searches_set_the_same_marks(void **state)
{
    (void)state;
    for (size_t i = 0; i < KR_COUNT(objects); i++) {
        static struct kr_blocks blocks;
        char p[256];
        size_t start = 50;
        uint64_t strict[8] = { 0 };
        uint64_t lenient[8] = { 0 };
        const struct kr_json_text text = { .p = p,
                                           .len = start + strlen(objects[i]),
                                           .last = true };
        struct kr_splitter s = { .pos = start, .blocks = &blocks, .marks = strict };

        memset(p, ' ', sizeof p);
        memcpy(p + start, objects[i], strlen(objects[i]));
        kr_blocks_start(&blocks, text.p, text.len);
        assert_int_equal(kr_split_strict(&s, &text, SIZE_MAX), KR_SPLIT_END);
        kr_split_lenient(&text, start, (struct kr_split_how){ SIZE_MAX, false, lenient });
        for (size_t byte = start; byte < text.len; byte++) {
            if ((strict[byte / 64] ^ lenient[byte / 64]) >> byte % 64 & 1)
                fail_msg("%s: byte %zu", objects[i], byte - start);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_and_plain_c_see_the_same_bytes),
        cmocka_unit_test(an_object_ends_at_its_brace_wherever_it_lies_in_a_block),
        cmocka_unit_test(an_unfinished_object_needs_more),
        cmocka_unit_test(lost_quotes_and_brackets_are_noticed),
        cmocka_unit_test(both_searches_set_the_same_marks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
