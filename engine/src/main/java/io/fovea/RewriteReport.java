package io.fovea;

/**
 * The progress or result of {@link Database#finishEvolution(ObjectSpec,
 * java.util.function.Consumer)}. A value; safe for any thread.
 *
 * @param rewritten objects rewritten, including expired ones that were removed
 * @param read objects read
 * @param total the approximate number of objects in the table
 * @since 0.2.0
 */
public record RewriteReport(long rewritten, long read, long total) {}
