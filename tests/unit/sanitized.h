/* SPDX-License-Identifier: MIT */
/* Whether a sanitizer is active: some tests then measure nothing, or do less. */
#ifndef SANITIZED_H
#define SANITIZED_H

#if defined(__SANITIZE_THREAD__)
#define SANITIZED_THREADS 1
#define SANITIZED 1
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED_THREADS 0
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED_THREADS __has_feature(thread_sanitizer)
#define SANITIZED (SANITIZED_THREADS || __has_feature(address_sanitizer))
#else
#define SANITIZED_THREADS 0
#define SANITIZED 0
#endif

/*
 * How often to repeat a test that varies its data but not which threads share what.  The
 * thread sanitizer is tens of times slower and only looks at the sharing.
 */
#define ROUNDS(n) (SANITIZED_THREADS ? (n) / 4 : (n))

#endif
