/*
 * Execution tracing into shared memory: what is mapped where
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef LINUX_USER_CANNOLI_MODULES_H
#define LINUX_USER_CANNOLI_MODULES_H

/* Changes of the address space; path NULL or no path: anonymous memory. */
void cannoli_module_map(uint64_t start, uint64_t size, const char *path,
                        uint64_t offset, uint64_t dev, uint64_t inode);
void cannoli_module_unmap(uint64_t start, uint64_t size);
void cannoli_module_move(uint64_t start, uint64_t size, uint64_t old_start,
                         uint64_t old_size);

#endif
