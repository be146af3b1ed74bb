/* The tool in process: kr_main with streams of our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "mem.h"

#define ARGS_MAX 12

/* What one invocation did. */
struct outcome {
    int status;
    char out[1 << 16];
    char log[1 << 14];
};

static void read_back(FILE *file, char *text, size_t size)
{
    size_t len;

    rewind(file);
    len = fread(text, 1, size - 1, file);
    text[len] = '\0';
    fclose(file);
}

static void run(struct outcome *outcome, const char *const *args)
{
    struct kr_io io = { .out = tmpfile(), .log = tmpfile() };
    char *argv[ARGS_MAX + 2] = { (char *)"kreach" };
    int argc = 1;

    assert_non_null(io.out);
    assert_non_null(io.log);
    for (; args[argc - 1]; argc++)
        argv[argc] = (char *)args[argc - 1];
    outcome->status = kr_main(&io, argc, argv);
    read_back(io.out, outcome->out, sizeof outcome->out);
    read_back(io.log, outcome->log, sizeof outcome->log);
}

static struct outcome outcome; /* too large for a stack frame */

static void the_command_line_is_understood_or_refused_with_a_reason(void **state)
{
    static const struct {
        const char *args[ARGS_MAX];
        int status;
        const char *out, *log; /* parts; "" = nothing at all */
    } cases[] = {
        { { "--help" }, 0, "usage: kreach COMMAND", "" },
        { { "-h" }, 0, "usage: kreach COMMAND", "" },
        { { "help" }, 0, "rules check", "" },
        { { "--version" }, 0, "kreach ", "" },
        { { "version", "--json" }, 0, "\"schema\": \"kreach.version\"", "" },
        { { "report", "--help" }, 0, "usage: kreach report [options] [FILE...]", "" },
        { { "report", "x.json", "-h" }, 0, "usage: kreach report", "" },
        { { "rules", "check", "--help" }, 0, "usage: kreach rules check", "" },
        { { "help", "rules", "list" }, 0, "usage: kreach rules list", "" },
        { { "schema" }, 0, "report\n", "" },
        { { "schema", "error" }, 0, "\"const\": \"kreach.error\"", "" },
        { { NULL }, 2, "", "a command is needed" },
        { { "reprot", "x" }, 2, "", "unknown command 'reprot'; did you mean 'report'?" },
        { { "rep", "x" }, 2, "", "unknown command 'rep'" },
        { { "rules" }, 2, "", "'rules' needs one of: check, list" },
        { { "rules", "chekc" }, 2, "", "did you mean 'rules check'?" },
        { { "report" }, 2, "", "'report' was given no FILE" },
        { { "report", "--jsn", "x" }, 2, "", "unknown option '--jsn'; did you mean '--json'?" },
        { { "report", "--win", "all", "x" }, 2, "", "unknown option '--win'" },
        { { "report", "-Z", "x" }, 2, "", "unknown option '-Z'" },
        { { "report", "--json=yes", "x" }, 2, NULL, "'--json' takes no argument" },
        { { "report", "x", "--window" }, 2, "", "option '--window' needs SPEC" },
        { { "report", "--format", "xml", "x" }, 2, "", "--format takes text|json|csv, not 'xml'" },
        { { "report", "--json", "--format=csv", "x" }, 2, NULL, "contradict" },
        { { "report", "--top", "-1", "x" }, 2, "", "--top takes a whole number" },
        { { "report", "--threads=1e3", "x" }, 2, "", "--threads takes a whole number" },
        { { "report", "--wall", "31", "x" }, 2, "", "--wall" },
        { { "report", "--wall", "0ms", "x" }, 2, "", "a step cannot take no time" },
        { { "report", "--fail-if", "idle", "x" }, 2, "", "'idle' is no condition" },
        { { "report", "--fail-if", "idle>1%%", "x" }, 2, "", "is no condition" },
        { { "info", "a", "b" }, 2, "", "'info' does not take 'b'" },
        { { "schema", "reprot" }, 2, "", "did you mean 'report'?" },
        { { "completion", "tcsh" }, 2, "", "bash, zsh or fish" },
        { { "--color=sometimes", "help" }, 2, "", "--color takes auto|always|never" },
        { { "report", "/does/not/exist.json" }, 3, "", "/does/not/exist.json" },
        { { "report", "--", "--json" }, 3, "", "--json" },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        const char *out = cases[i].out;
        const char *log = cases[i].log;

        run(&outcome, cases[i].args);
        if (outcome.status != cases[i].status || (out && !strstr(outcome.out, out)) ||
            !strstr(outcome.log, log) || (out && !*out && *outcome.out) || (!*log && *outcome.log))
            fail_msg("case %zu: status %d\nout: %.400s\nlog: %.400s", i, outcome.status,
                     outcome.out, outcome.log);
    }
}

static void an_error_is_a_json_document_for_those_who_asked_for_json(void **state)
{
    static const char *const cases[][ARGS_MAX] = {
        { "report", "--json", "/does/not/exist.json" },
        { "report", "--format", "json", "/does/not/exist.json" },
        { "report", "--format=json", "/does/not/exist.json" },
    };

    (void)state;
    for (size_t i = 0; i < KR_COUNT(cases); i++) {
        run(&outcome, cases[i]);
        assert_int_equal(outcome.status, 3);
        assert_non_null(strstr(outcome.out, "{\n  \"schema\": \"kreach.error\",\n"));
        assert_non_null(strstr(outcome.out, "\"code\": \"input\""));
        assert_non_null(strstr(outcome.out, "\"exit_status\": 3"));
        assert_non_null(strstr(outcome.log, "kreach: "));
    }
}

static void a_name_in_an_error_can_do_nothing_to_a_terminal(void **state)
{
    static const char *const args[] = { "report", "/no\033[2Jfile", NULL };

    (void)state;
    run(&outcome, args);
    assert_null(strchr(outcome.log, '\033'));
    assert_non_null(strstr(outcome.log, "\\x1b"));
}

static void every_command_explains_itself_within_80_columns(void **state)
{
    (void)state;
    for (size_t i = 0; kr_commands[i]; i++) {
        const char *const args[] = { "help", "--", kr_commands[i]->name, NULL };

        run(&outcome, args);
        assert_int_equal(outcome.status, 0);
        assert_non_null(strstr(outcome.out, kr_commands[i]->summary));
        for (const char *line = outcome.out; *line;) {
            size_t len = strcspn(line, "\n");

            if (len > 80)
                fail_msg("%s: %.*s", kr_commands[i]->name, (int)len, line);
            line += len + (line[len] == '\n');
        }
        for (const struct kr_option *o = kr_commands[i]->options; o->name; o++)
            assert_non_null(strstr(outcome.out, o->name));
    }
}

static void no_option_table_names_a_thing_twice(void **state)
{
    (void)state;
    for (size_t i = 0; kr_commands[i]; i++) {
        bool letters[256] = { false };
        const struct kr_option *tables[] = { kr_commands[i]->options, kr_global_options };

        for (size_t t = 0; t < KR_COUNT(tables); t++) {
            for (const struct kr_option *o = tables[t]; o->name; o++) {
                for (const struct kr_option *p = kr_commands[i]->options; p != o && p->name; p++)
                    assert_string_not_equal(o->name, p->name);
                assert_false(o->letter && letters[(unsigned char)o->letter]);
                letters[(unsigned char)o->letter] = true;
            }
        }
    }
}

static void completion_knows_every_command_and_option(void **state)
{
    static const char *const shells[] = { "bash", "zsh", "fish" };

    (void)state;
    for (size_t s = 0; s < KR_COUNT(shells); s++) {
        const char *const args[] = { "completion", shells[s], NULL };

        run(&outcome, args);
        assert_int_equal(outcome.status, 0);
        for (size_t i = 0; kr_commands[i]; i++) {
            char word[32];

            snprintf(word, sizeof word, "%.*s", (int)strcspn(kr_commands[i]->name, " "),
                     kr_commands[i]->name);
            assert_non_null(strstr(outcome.out, word));
            for (const struct kr_option *o = kr_commands[i]->options; o->name; o++)
                assert_non_null(strstr(outcome.out, o->name));
        }
    }
}

static void codes_become_statuses_in_one_place(void **state)
{
    (void)state;
    assert_int_equal(kr_status_of(KR_OK), 0);
    assert_int_equal(kr_status_of(KR_EARG), 2);
    assert_int_equal(kr_status_of(KR_EINPUT), 3);
    assert_int_equal(kr_status_of(KR_EENV), 4);
    assert_int_equal(kr_status_of(KR_EOUTPUT), 5);
    assert_int_equal(kr_status_of(KR_ENOMEM), 5);
}

static void options_are_parsed_in_all_their_spellings(void **state)
{
    static const struct kr_option table[] = {
        { "all", 'a', NULL, NULL, "" },
        { "name", 'n', "X", NULL, "" },
        { "verbose", 'v', NULL, NULL, "" },
        { 0 },
    };
    char *const argv[] = { (char *)"-avv", (char *)"one",      (char *)"-n1",    (char *)"-n",
                           (char *)"2",    (char *)"--name=3", (char *)"--name", (char *)"-4",
                           (char *)"-",    (char *)"--",       (char *)"-a",     (char *)"two" };
    static const char *const names[] = { "1", "2", "3", "-4" };
    static const char *const operands[] = { "one", "-", "-a", "two" };
    struct kr_opts opts = { .tables = { table } };
    struct kr_err err = { 0 };

    (void)state;
    assert_true(kr_opts_parse(&opts, (int)KR_COUNT(argv), argv, &err));
    assert_int_equal(kr_opts_count(&opts, "all"), 1);
    assert_int_equal(kr_opts_count(&opts, "verbose"), 2);
    assert_int_equal(kr_opts_count(&opts, "name"), KR_COUNT(names));
    for (unsigned i = 0; i < KR_COUNT(names); i++)
        assert_string_equal(kr_opts_nth(&opts, "name", i), names[i]);
    assert_string_equal(kr_opts_value(&opts, "name"), "-4");
    assert_int_equal(opts.n_operands, KR_COUNT(operands));
    for (size_t i = 0; i < KR_COUNT(operands); i++)
        assert_string_equal(opts.operands[i], operands[i]);
    kr_opts_free(&opts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_line_is_understood_or_refused_with_a_reason),
        cmocka_unit_test(an_error_is_a_json_document_for_those_who_asked_for_json),
        cmocka_unit_test(a_name_in_an_error_can_do_nothing_to_a_terminal),
        cmocka_unit_test(every_command_explains_itself_within_80_columns),
        cmocka_unit_test(no_option_table_names_a_thing_twice),
        cmocka_unit_test(completion_knows_every_command_and_option),
        cmocka_unit_test(codes_become_statuses_in_one_place),
        cmocka_unit_test(options_are_parsed_in_all_their_spellings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
