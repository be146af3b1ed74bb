/* The commands, one file each; the table in commands.c is what everyone else reads. */
#ifndef KR_COMMANDS_H
#define KR_COMMANDS_H

#include "cmd.h"

extern const struct kr_command kr_cmd_record;
extern const struct kr_command kr_cmd_report;
extern const struct kr_command kr_cmd_predict;
extern const struct kr_command kr_cmd_explain;
extern const struct kr_command kr_cmd_plot_classes;
extern const struct kr_command kr_cmd_plot_amdahl;
extern const struct kr_command kr_cmd_plot_cumulative;
extern const struct kr_command kr_cmd_plot_step;
extern const struct kr_command kr_cmd_info;
extern const struct kr_command kr_cmd_rules_check;
extern const struct kr_command kr_cmd_rules_list;
extern const struct kr_command kr_cmd_doctor;
extern const struct kr_command kr_cmd_schema;
extern const struct kr_command kr_cmd_completion;
extern const struct kr_command kr_cmd_help;
extern const struct kr_command kr_cmd_version;

#endif
