#include "status.h"

enum kr_status kr_status_of(enum kr_code code)
{
    switch (code) {
    case KR_OK:
        return KR_STATUS_DONE;
    case KR_EARG:
        return KR_STATUS_USAGE;
    case KR_EINPUT:
        return KR_STATUS_INPUT;
    case KR_EENV:
        return KR_STATUS_MISSING;
    case KR_EOUTPUT:
    case KR_ENOMEM:
        break;
    }
    return KR_STATUS_FAILED;
}
