#include "commands.h"

/* Pointers, since a static initialiser cannot copy another object. */
const struct kr_command *const kr_commands[] = {
    &kr_cmd_record,
    &kr_cmd_report,
    &kr_cmd_predict,
    &kr_cmd_explain,
    &kr_cmd_plot_classes,
    &kr_cmd_plot_amdahl,
    &kr_cmd_plot_cumulative,
    &kr_cmd_plot_step,
    &kr_cmd_info,
    &kr_cmd_rules_check,
    &kr_cmd_rules_list,
    &kr_cmd_doctor,
    &kr_cmd_schema,
    &kr_cmd_completion,
    &kr_cmd_help,
    &kr_cmd_version,
    NULL,
};
