package io.fovea.memory;

/**
 * Keeps the fields of what extends it on other lines than those of its neighbours on the heap: 128
 * bytes, for lines are fetched in pairs, and fields of a superclass come first. For objects of
 * which each thread writes its own, all the time.
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

  /** Nothing to do. */
  protected Padding() {}
}
