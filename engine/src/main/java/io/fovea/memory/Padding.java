package io.fovea.memory;

/**
 * Separates the fields of a subclass from neighbours on the heap by 128 bytes: cache lines are
 * fetched in pairs, and the fields of a superclass come first. Used for objects that are each
 * frequently written by one thread.
 *
 * @since 0.1.0
 */
@SuppressWarnings("unused")
public abstract class Padding {
  private long p01;
  private long p02;
  private long p03;
  private long p04;
  private long p05;
  private long p06;
  private long p07;
  private long p08;
  private long p09;
  private long p10;
  private long p11;
  private long p12;
  private long p13;
  private long p14;
  private long p15;
  private long p16;

  protected Padding() {}
}
