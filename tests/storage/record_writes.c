/* Records what a process writes below a folder, and when it syncs: a library for LD_PRELOAD.

   RECORD_FOLDER is the folder, RECORD_LOG the file of records. Each record is a line
   "KIND inode offset length name", and for a write its bytes follow. Kinds: W write, T truncate,
   S sync of a file, D sync of the folder, N new name, U name removed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_file = -1;
static __thread int inside = 0;

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

static const char *below(const char *path) {
    const char *folder = getenv("RECORD_FOLDER");
    size_t size = folder ? strlen(folder) : 0;
    if (!size || strncmp(path, folder, size)) return NULL;
    return path[size] == '/' ? path + size + 1 : (path[size] ? NULL : "");
}

static void record(char kind, unsigned long inode, long offset, long length, const char *name,
                   const void *data) {
    char line[4096];
    if (log_file < 0)
        log_file = open(getenv("RECORD_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int size = snprintf(line, sizeof line, "%c %lu %ld %ld %s\n", kind, inode, offset, length, name);
    if (REAL(write)(log_file, line, size) != size) abort();
    if (data && REAL(write)(log_file, data, length) != length) abort();
}

static void record_file(char kind, int file, long offset, long length, const void *data) {
    char link_path[64], path[4096], *end;
    struct stat status;
    if (inside) return;
    inside = 1;
    snprintf(link_path, sizeof link_path, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link_path, path, sizeof path - 1);
    if (size > 0) {
        path[size] = 0;
        if ((end = strstr(path, " (deleted)"))) *end = 0;
        const char *name = below(path);
        if (name && !fstat(file, &status)) {
            if (!*name) kind = 'D';
            record(kind, status.st_ino, offset, length, *name ? name : ".", data);
        }
    }
    inside = 0;
}

static void record_name(char kind, const char *path) {
    struct stat status;
    const char *name = below(path);
    if (!name || inside) return;
    inside = 1;
    record(kind, stat(path, &status) ? 0 : status.st_ino, 0, 0, name, NULL);
    inside = 0;
}

#define LOCKED(type, call, after)                  \
    pthread_mutex_lock(&lock);                     \
    type result = call;                            \
    if (result >= 0) { after; }                    \
    pthread_mutex_unlock(&lock);                   \
    return result

ssize_t pwrite(int f, const void *d, size_t n, off_t at) {
    LOCKED(ssize_t, REAL(pwrite)(f, d, n, at), record_file('W', f, at, result, d));
}
ssize_t pwrite64(int f, const void *d, size_t n, off64_t at) {
    LOCKED(ssize_t, REAL(pwrite64)(f, d, n, at), record_file('W', f, at, result, d));
}
ssize_t write(int f, const void *d, size_t n) {
    LOCKED(ssize_t, REAL(write)(f, d, n),
           record_file('W', f, lseek(f, 0, SEEK_CUR) - result, result, d));
}
int fsync(int f) { LOCKED(int, REAL(fsync)(f), record_file('S', f, 0, 0, NULL)); }
int fdatasync(int f) { LOCKED(int, REAL(fdatasync)(f), record_file('S', f, 0, 0, NULL)); }
int ftruncate(int f, off_t n) { LOCKED(int, REAL(ftruncate)(f, n), record_file('T', f, 0, n, NULL)); }
int ftruncate64(int f, off64_t n) {
    LOCKED(int, REAL(ftruncate64)(f, n), record_file('T', f, 0, n, NULL));
}
int unlink(const char *p) { LOCKED(int, REAL(unlink)(p), record_name('U', p)); }
int link(const char *a, const char *b) { LOCKED(int, REAL(link)(a, b), record_name('N', b)); }
int linkat(int c, const char *a, int d, const char *b, int flags) {
    LOCKED(int, REAL(linkat)(c, a, d, b, flags), record_name('N', b));
}
