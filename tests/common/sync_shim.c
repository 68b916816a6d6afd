/* Preloaded into a process, this library lets calls for one database fail, and records what happens to its files.
 *
 *   SHIM_FILE     the path of the database file
 *   SHIM_FAIL_AT  which sync of the file fails, counted from 1; none if missing
 *   SHIM_THREAD   only syncs of the thread with this name are counted
 *   SHIM_RECORD   a file to which every operation is appended, if set
 *   SHIM_MARKER   how often the marker of a failed sync cannot be opened
 *   SHIM_CONTROL  a file with a `struct control`, in another folder, which the process changes while it runs: which call
 *                 for a file in the folder of the database fails, and how
 *
 * A record is a header and the written bytes. Its file is 'd' (the database), 'w' (its write-ahead log) or 'n' (notes: a
 * file whose name ends in ".notes").
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct header {
    uint8_t operation; /* 'w' write, 't' truncate, 's' sync, 'f' failed sync, 'u' unlink */
    uint8_t file;
    uint8_t padding[6];
    uint64_t offset; /* of a truncation: the new size */
    uint64_t length;
};

enum call { CALL_WRITE, CALL_SYNC, CALL_TRUNCATE, CALL_OPEN, CALLS };

enum fault {
    FAULT_EIO = 1,
    FAULT_ENOSPC = 2,
    FAULT_HALF = 3, /* a write stores its first half, and the next write fails with ENOSPC */
    FAULT_LIE = 4,  /* a write stores nothing and reports success */
};

struct control {
    int32_t is_armed;
    int32_t call;    /* an enum call */
    int32_t fault;   /* an enum fault */
    int32_t at;      /* which call fails, counted from 1; none if 0 */
    int32_t for_good; /* whether the calls after it fail as well */
    int32_t failed;  /* how many calls have failed */
    int32_t counted[CALLS];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *path;
static const char *thread;
static long fail_at;
static long marker_failures;
static long syncs;
static int record_fd = -1;
static volatile struct control *control;
static int rest_fails;

static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off_t);
static int (*real_unlink)(const char *);
static int (*real_open)(const char *, int, ...);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);

__attribute__((constructor)) static void start(void) {
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_open = dlsym(RTLD_NEXT, "open64");
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    path = getenv("SHIM_FILE");
    thread = getenv("SHIM_THREAD");
    const char *at = getenv("SHIM_FAIL_AT");
    fail_at = at ? atol(at) : 0;
    const char *marker = getenv("SHIM_MARKER");
    marker_failures = marker ? atol(marker) : 0;
    const char *record = getenv("SHIM_RECORD");
    const char *control_file = getenv("SHIM_CONTROL");
    if (control_file) {
        int fd = real_open(control_file, O_RDWR | O_CLOEXEC);
        void *shared = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (fd < 0 || shared == MAP_FAILED) abort();
        control = shared;
    }
    if (record) record_fd = real_open(record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int kind_of_name(const char *name, size_t length) {
    if (!path) return 0;
    size_t known = strlen(path);
    if (length >= 6 && memcmp(name + length - 6, ".notes", 6) == 0) return 'n';
    if (length < known || memcmp(name, path, known) != 0) return 0;
    if (length == known) return 'd';
    if (length == known + 4 && memcmp(name + known, "-wal", 4) == 0) return 'w';
    return 0;
}

static int kind_of(int fd) {
    char link[64], name[4096];
    if (!path || fd <= 2 || fd == record_fd) return 0;
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, name, sizeof name);
    errno = saved;
    return length < 0 ? 0 : kind_of_name(name, (size_t)length);
}

/* Whether this is a file in the folder of the database, or the folder itself. */
static int is_in_folder(const char *name, size_t length) {
    size_t folder = path ? (size_t)(strrchr(path, '/') - path) : 0;
    return folder > 0 && length >= folder && memcmp(name, path, folder) == 0 &&
           (length == folder || name[folder] == '/');
}

/* Counts a call for a file that has this name, or is open as `fd`. Returns how it must fail, or 0. */
static int fault_of(enum call call, int fd, const char *name) {
    if (!control || !control->is_armed || fd == 1 || fd == 2) return 0;
    char link[64], found[4096];
    int saved = errno;
    if (!name) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, found, sizeof found - 1);
        errno = saved;
        if (length < 0) return 0;
        found[length] = 0;
        name = found;
    }
    if (!is_in_folder(name, strlen(name))) return 0;
    int fault = 0;
    pthread_mutex_lock(&mutex);
    int number = ++control->counted[call];
    int is_chosen = control->at > 0 && (int)call == control->call &&
                    (number == control->at || (control->for_good && number > control->at));
    if (is_chosen) {
        fault = control->fault;
    } else if (call == CALL_WRITE && rest_fails) {
        fault = FAULT_ENOSPC;
    }
    if (call == CALL_WRITE) rest_fails = fault == FAULT_HALF;
    if (fault) control->failed++;
    pthread_mutex_unlock(&mutex);
    if (fault == FAULT_EIO) errno = EIO;
    if (fault == FAULT_ENOSPC || fault == FAULT_HALF) errno = ENOSPC;
    return fault;
}

/* The mutex is held, so that the order in the record is that of the operations. */
static void record(int operation, int file, uint64_t offset, const void *bytes, uint64_t length) {
    if (record_fd < 0) return;
    struct header header = {(uint8_t)operation, (uint8_t)file, {0}, offset, length};
    int saved = errno;
    if (real_write(record_fd, &header, sizeof header) != (ssize_t)sizeof header) abort();
    if (length > 0 && real_write(record_fd, bytes, length) != (ssize_t)length) abort();
    errno = saved;
}

static int must_fail(int file) {
    if (file != 'd' || fail_at == 0) return 0;
    if (thread) {
        char name[16] = "";
        pthread_getname_np(pthread_self(), name, sizeof name);
        if (strncmp(name, thread, sizeof name - 1) != 0) return 0;
    }
    return ++syncs == fail_at;
}

static int sync_file(int fd, int (*real)(int)) {
    if (fault_of(CALL_SYNC, fd, NULL)) return -1;
    int file = kind_of(fd);
    if (!file) return real(fd);
    pthread_mutex_lock(&mutex);
    int result;
    if (must_fail(file)) {
        record('f', file, 0, NULL, 0);
        errno = EIO;
        result = -1;
    } else {
        result = real(fd);
        record(result == 0 ? 's' : 'f', file, 0, NULL, 0);
    }
    pthread_mutex_unlock(&mutex);
    return result;
}

int fsync(int fd) { return sync_file(fd, real_fsync); }

int fdatasync(int fd) { return sync_file(fd, real_fdatasync); }

ssize_t write(int fd, const void *bytes, size_t length) {
    int fault = fault_of(CALL_WRITE, fd, NULL);
    if (fault == FAULT_LIE) return (ssize_t)length;
    if (fault == FAULT_HALF && length > 1) return real_write(fd, bytes, length / 2);
    if (fault) return -1;
    int file = kind_of(fd);
    if (!file) return real_write(fd, bytes, length);
    pthread_mutex_lock(&mutex);
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t written = real_write(fd, bytes, length);
    if (written > 0) record('w', file, (uint64_t)offset, bytes, (uint64_t)written);
    pthread_mutex_unlock(&mutex);
    return written;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) {
    int fault = fault_of(CALL_WRITE, fd, NULL);
    if (fault == FAULT_LIE) return (ssize_t)length;
    if (fault == FAULT_HALF && length > 1) return real_pwrite(fd, bytes, length / 2, offset);
    if (fault) return -1;
    int file = kind_of(fd);
    if (!file) return real_pwrite(fd, bytes, length, offset);
    pthread_mutex_lock(&mutex);
    ssize_t written = real_pwrite(fd, bytes, length, offset);
    if (written > 0) record('w', file, (uint64_t)offset, bytes, (uint64_t)written);
    pthread_mutex_unlock(&mutex);
    return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return pwrite64(fd, bytes, length, offset); }

int ftruncate64(int fd, off_t size) {
    if (fault_of(CALL_TRUNCATE, fd, NULL)) return -1;
    int file = kind_of(fd);
    if (!file) return real_ftruncate(fd, size);
    pthread_mutex_lock(&mutex);
    int result = real_ftruncate(fd, size);
    if (result == 0) record('t', file, (uint64_t)size, NULL, 0);
    pthread_mutex_unlock(&mutex);
    return result;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int open_file(const char *name, int flags, mode_t mode) {
    size_t length = strlen(name), suffix = strlen("-sync-failed");
    if (length > suffix && strcmp(name + length - suffix, "-sync-failed") == 0) {
        pthread_mutex_lock(&mutex);
        int fails = marker_failures > 0 && marker_failures--;
        pthread_mutex_unlock(&mutex);
        if (fails) {
            errno = EROFS;
            return -1;
        }
    }
    if (fault_of(CALL_OPEN, -1, name)) return -1;
    return real_open(name, flags, mode);
}

int open64(const char *name, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return open_file(name, flags, mode);
}

int open(const char *name, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return open_file(name, flags, mode);
}

int unlink(const char *name) {
    int file = kind_of_name(name, strlen(name));
    if (!file) return real_unlink(name);
    pthread_mutex_lock(&mutex);
    int result = real_unlink(name);
    if (result == 0) record('u', file, 0, NULL, 0);
    pthread_mutex_unlock(&mutex);
    return result;
}
