/* SPDX-License-Identifier: MIT */
/*
 * The files of modules, for the offsets next to a pc.  They are addresses of the file, as
 * tracesym and nm show them, so the file's headers are needed.
 */
#include "tracedump.h"

#include "common/options.h"

int open_places(struct modset **modset, struct places **places, struct ctr_trace *tr,
                const struct dump_options *opt, const struct modset_options *files)
{
    int status = modset_open(modset, files);

    if (!status) {
        status = places_load_lazily(places, *modset, tr, opt->path,
                                    opt->no_index ? CTR_OPEN_NO_INDEX : 0);
    }
    if (!status && *places) {
        status = modset_status(*modset);
    }
    return status;
}

int open_symbols(struct modset **modset, struct places **places, struct ctr_trace *tr,
                 const struct dump_options *opt, const struct modset_options *files)
{
    int status = modset_open(modset, files);

    status = status ? status : places_load(places, *modset, tr, opt->path);
    return status ? status : modset_status(*modset);
}
