/* What several tests assert or need besides cmocka. Any failure ends the test. */
#ifndef KR_TEST_ASSERTIONS_H
#define KR_TEST_ASSERTIONS_H

/* That two numbers differ by at most `tolerance`; NaN never passes. */
void assert_near(double got, double expected, double tolerance);

/**
 * Writes text to a new file in $KREACH_TEST_TMP, else /tmp; the test removes it.
 * @return its path, which lives until the next call
 */
const char *scratch_file(const char *text);

#endif
