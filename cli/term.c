#include "term.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Text is made for 80 columns; beyond this a table is no easier to read. */
#define COLUMNS_LEAST 80
#define COLUMNS_MOST  200

/* The value of a variable; "" when it is not set. */
static const char *env(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

static bool is_terminal(FILE *stream)
{
    int fd = fileno(stream);

    return fd >= 0 && isatty(fd);
}

static bool is_dumb(void)
{
    return strcmp(env("TERM"), "dumb") == 0;
}

static bool wants_color(FILE *stream, const char *wish)
{
    if (wish && strcmp(wish, "auto") != 0)
        return strcmp(wish, "always") == 0;
    if (*env("NO_COLOR"))
        return false;
    if (*env("CLICOLOR_FORCE") && strcmp(env("CLICOLOR_FORCE"), "0") != 0)
        return true;
    return !is_dumb() && is_terminal(stream);
}

struct kr_style kr_term_style(FILE *stream, const char *color_wish)
{
    struct kr_style style = { .color = wants_color(stream, color_wish), .columns = COLUMNS_LEAST };
    struct winsize size;

    if (is_terminal(stream) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0) {
        if (size.ws_col > COLUMNS_LEAST)
            style.columns = size.ws_col < COLUMNS_MOST ? size.ws_col : COLUMNS_MOST;
    }
    return style;
}

bool kr_term_shows_progress(FILE *stream)
{
    return is_terminal(stream) && !is_dumb() && !*env("CI");
}

void kr_term_progress(void *stream, uint64_t done_bytes, uint64_t total_bytes)
{
    double mb = (double)done_bytes / 1e6;

    if (total_bytes)
        fprintf(stream, "\rreading: %3.0f %% of %.0f MB\033[K",
                100.0 * (double)done_bytes / (double)total_bytes, (double)total_bytes / 1e6);
    else
        fprintf(stream, "\rreading: %.0f MB\033[K", mb);
    (void)fflush(stream);
}

void kr_term_progress_end(FILE *stream)
{
    fputs("\r\033[K", stream);
    (void)fflush(stream);
}
