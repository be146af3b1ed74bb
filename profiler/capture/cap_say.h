/* Messages of libkreach: one line each to standard error, by write(2), never through stdio. */
#ifndef CAP_SAY_H
#define CAP_SAY_H

/** Prints "kreach: <message>\n" in one write; keeps errno. Not for signal handlers. */
void cap_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
