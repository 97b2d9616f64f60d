package io.fovea.bindings;

/**
 * The error numbers of Linux, with their names and meanings.
 *
 * <p>Calls of {@link FileCalls}, {@link MemoryCalls}, {@link EventFd}, {@link Libc} and {@link
 * Ring} return a failure as the negated number: {@code -28} is {@link #ENOSPC}. x86-64 and AArch64
 * share all of these numbers. Stateless; any thread.
 *
 * @since 0.1.0
 */
public final class Errno {
  /** Operation not permitted. */
  public static final int EPERM = 1;

  /** No such file or directory. */
  public static final int ENOENT = 2;

  /** Interrupted system call. */
  public static final int EINTR = 4;

  /** Input/output error. */
  public static final int EIO = 5;

  /** No such device or address. */
  public static final int ENXIO = 6;

  /** Bad file descriptor. */
  public static final int EBADF = 9;

  /** Resource temporarily unavailable. */
  public static final int EAGAIN = 11;

  /** Cannot allocate memory. */
  public static final int ENOMEM = 12;

  /** Permission denied. */
  public static final int EACCES = 13;

  /** Bad address. */
  public static final int EFAULT = 14;

  /** Device or resource busy. */
  public static final int EBUSY = 16;

  /** File exists. */
  public static final int EEXIST = 17;

  /** Invalid cross-device link. */
  public static final int EXDEV = 18;

  /** No such device. */
  public static final int ENODEV = 19;

  /** Not a directory. */
  public static final int ENOTDIR = 20;

  /** Is a directory. */
  public static final int EISDIR = 21;

  /** Invalid argument. */
  public static final int EINVAL = 22;

  /** Too many open files in system. */
  public static final int ENFILE = 23;

  /** Too many open files. */
  public static final int EMFILE = 24;

  /** Text file busy. */
  public static final int ETXTBSY = 26;

  /** File too large. */
  public static final int EFBIG = 27;

  /** No space left on device. */
  public static final int ENOSPC = 28;

  /** Illegal seek. */
  public static final int ESPIPE = 29;

  /** Read-only file system. */
  public static final int EROFS = 30;

  /** Too many links. */
  public static final int EMLINK = 31;

  /** Broken pipe. */
  public static final int EPIPE = 32;

  /** Numerical result out of range. */
  public static final int ERANGE = 34;

  /** Resource deadlock avoided. */
  public static final int EDEADLK = 35;

  /** File name too long. */
  public static final int ENAMETOOLONG = 36;

  /** No locks available. */
  public static final int ENOLCK = 37;

  /** Function not implemented. */
  public static final int ENOSYS = 38;

  /** Directory not empty. */
  public static final int ENOTEMPTY = 39;

  /** Too many levels of symbolic links. */
  public static final int ELOOP = 40;

  /** Invalid request descriptor; io_uring: completions were lost. */
  public static final int EBADR = 53;

  /** Timer expired. */
  public static final int ETIME = 62;

  /** Value too large for defined data type. */
  public static final int EOVERFLOW = 75;

  /** File descriptor in bad state. */
  public static final int EBADFD = 77;

  /** Operation not supported. */
  public static final int EOPNOTSUPP = 95;

  /** Connection timed out. */
  public static final int ETIMEDOUT = 110;

  /** Stale file handle. */
  public static final int ESTALE = 116;

  /** Structure needs cleaning. */
  public static final int EUCLEAN = 117;

  /** Remote I/O error. */
  public static final int EREMOTEIO = 121;

  /** Disk quota exceeded. */
  public static final int EDQUOT = 122;

  /** No medium found. */
  public static final int ENOMEDIUM = 123;

  /** Wrong medium type. */
  public static final int EMEDIUMTYPE = 124;

  /** Operation canceled. */
  public static final int ECANCELED = 125;

  private Errno() {}

  /**
   * Returns the symbolic name of an error number.
   *
   * @param errno the number, positive as in C or negated as the calls here return it
   * @return for example {@code "ENOSPC"}, or {@code "errno 999"} for a number not listed here
   * @since 0.1.0
   */
  public static String name(int errno) {
    return switch (Math.abs(errno)) {
      case EPERM -> "EPERM";
      case ENOENT -> "ENOENT";
      case EINTR -> "EINTR";
      case EIO -> "EIO";
      case ENXIO -> "ENXIO";
      case EBADF -> "EBADF";
      case EAGAIN -> "EAGAIN";
      case ENOMEM -> "ENOMEM";
      case EACCES -> "EACCES";
      case EFAULT -> "EFAULT";
      case EBUSY -> "EBUSY";
      case EEXIST -> "EEXIST";
      case EXDEV -> "EXDEV";
      case ENODEV -> "ENODEV";
      case ENOTDIR -> "ENOTDIR";
      case EISDIR -> "EISDIR";
      case EINVAL -> "EINVAL";
      case ENFILE -> "ENFILE";
      case EMFILE -> "EMFILE";
      case ETXTBSY -> "ETXTBSY";
      case EFBIG -> "EFBIG";
      case ENOSPC -> "ENOSPC";
      case ESPIPE -> "ESPIPE";
      case EROFS -> "EROFS";
      case EMLINK -> "EMLINK";
      case EPIPE -> "EPIPE";
      case ERANGE -> "ERANGE";
      case EDEADLK -> "EDEADLK";
      case ENAMETOOLONG -> "ENAMETOOLONG";
      case ENOLCK -> "ENOLCK";
      case ENOSYS -> "ENOSYS";
      case ENOTEMPTY -> "ENOTEMPTY";
      case ELOOP -> "ELOOP";
      case EBADR -> "EBADR";
      case ETIME -> "ETIME";
      case EOVERFLOW -> "EOVERFLOW";
      case EBADFD -> "EBADFD";
      case EOPNOTSUPP -> "EOPNOTSUPP";
      case ETIMEDOUT -> "ETIMEDOUT";
      case ESTALE -> "ESTALE";
      case EUCLEAN -> "EUCLEAN";
      case EREMOTEIO -> "EREMOTEIO";
      case EDQUOT -> "EDQUOT";
      case ENOMEDIUM -> "ENOMEDIUM";
      case EMEDIUMTYPE -> "EMEDIUMTYPE";
      case ECANCELED -> "ECANCELED";
      default -> "errno " + Math.abs(errno);
    };
  }

  /**
   * Returns the meaning of an error number, in the words of strerror in the C locale.
   *
   * @param errno the number, positive as in C or negated as the calls here return it
   * @return for example {@code "No space left on device"}
   * @since 0.1.0
   */
  public static String message(int errno) {
    return switch (Math.abs(errno)) {
      case EPERM -> "Operation not permitted";
      case ENOENT -> "No such file or directory";
      case EINTR -> "Interrupted system call";
      case EIO -> "Input/output error";
      case ENXIO -> "No such device or address";
      case EBADF -> "Bad file descriptor";
      case EAGAIN -> "Resource temporarily unavailable";
      case ENOMEM -> "Cannot allocate memory";
      case EACCES -> "Permission denied";
      case EFAULT -> "Bad address";
      case EBUSY -> "Device or resource busy";
      case EEXIST -> "File exists";
      case EXDEV -> "Invalid cross-device link";
      case ENODEV -> "No such device";
      case ENOTDIR -> "Not a directory";
      case EISDIR -> "Is a directory";
      case EINVAL -> "Invalid argument";
      case ENFILE -> "Too many open files in system";
      case EMFILE -> "Too many open files";
      case ETXTBSY -> "Text file busy";
      case EFBIG -> "File too large";
      case ENOSPC -> "No space left on device";
      case ESPIPE -> "Illegal seek";
      case EROFS -> "Read-only file system";
      case EMLINK -> "Too many links";
      case EPIPE -> "Broken pipe";
      case ERANGE -> "Numerical result out of range";
      case EDEADLK -> "Resource deadlock avoided";
      case ENAMETOOLONG -> "File name too long";
      case ENOLCK -> "No locks available";
      case ENOSYS -> "Function not implemented";
      case ENOTEMPTY -> "Directory not empty";
      case ELOOP -> "Too many levels of symbolic links";
      case EBADR -> "Invalid request descriptor";
      case ETIME -> "Timer expired";
      case EOVERFLOW -> "Value too large for defined data type";
      case EBADFD -> "File descriptor in bad state";
      case EOPNOTSUPP -> "Operation not supported";
      case ETIMEDOUT -> "Connection timed out";
      case ESTALE -> "Stale file handle";
      case EUCLEAN -> "Structure needs cleaning";
      case EREMOTEIO -> "Remote I/O error";
      case EDQUOT -> "Disk quota exceeded";
      case ENOMEDIUM -> "No medium found";
      case EMEDIUMTYPE -> "Wrong medium type";
      case ECANCELED -> "Operation canceled";
      default -> "Unknown error " + Math.abs(errno);
    };
  }

  /**
   * Returns name, number and meaning in one line, for messages.
   *
   * @param errno the number, positive as in C or negated as the calls here return it
   * @return for example {@code "ENOSPC (28, No space left on device)"}
   * @since 0.1.0
   */
  public static String describe(int errno) {
    return name(errno) + " (" + Math.abs(errno) + ", " + message(errno) + ")";
  }
}
