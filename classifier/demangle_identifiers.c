#include <ctype.h>
#include <string.h>

#include "demangle.h"

/* Past a literal such as Li128E, whose number is no length; 0 when there is none. */
static size_t literal_length(const char *name, size_t len)
{
    size_t n = 2;

    if (len < 3 || name[0] != 'L' || !islower((unsigned char)name[1]))
        return 0;
    while (n < len && (isdigit((unsigned char)name[n]) || name[n] == 'n'))
        n++;
    return n;
}

size_t kr_demangle_identifiers(const char *name, size_t len, char *out)
{
    const char *separator = "";
    size_t n = 0;
    size_t pos = 2;

    while (pos < len) {
        size_t id = 0;
        size_t digits = pos + literal_length(name + pos, len - pos);

        if (digits > pos) {
            pos = digits;
            continue;
        }
        while (digits < len && isdigit((unsigned char)name[digits]) && id < len)
            id = id * 10 + (size_t)(name[digits++] - '0');
        if (digits == len)
            break; /* the length of an identifier that is not there */
        if (digits == pos || id == 0) {
            if (name[pos] == 'I' && n && separator[0] == ':')
                separator = "<";
            pos = digits == pos ? pos + 1 : digits;
            continue;
        }
        if (id > len - digits)
            id = len - digits; /* the identifier itself is cut */
        memcpy(out + n, separator, strlen(separator));
        n += strlen(separator);
        memcpy(out + n, name + digits, id);
        n += id;
        separator = separator[0] == '<' || separator[0] == ',' ? "," : "::";
        pos = digits + id;
    }
    return n;
}
