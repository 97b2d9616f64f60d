package io.fovea.order;

import io.fovea.memory.OperationLock;
import io.fovea.memory.SharedOperationLock;
import io.fovea.memory.Waits;
import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/** The locks with which {@link LockOrderAgent} replaces those of the engine. */
public final class OrderedLocks {
  private OrderedLocks() {}

  /** Identifies the lock. */
  static final class Order {
    /** The name of its field. */
    volatile String name = "";

    void check(Object lock) {
      LockOrder.check(lock, name, false);
    }

    void took(Object lock) {
      LockOrder.took(lock, name);
    }
  }

  /** A lock with a name. */
  interface Named {
    Order order();
  }

  /** Replaces {@link ReentrantLock}. */
  public static final class Reentrant extends ReentrantLock implements Named {
    private static final long serialVersionUID = 1;
    private final transient Order order = new Order();

    public Reentrant() {}

    public Reentrant(boolean fair) {
      super(fair);
    }

    @Override
    public Order order() {
      return order;
    }

    @Override
    public void lock() {
      order.check(this);
      super.lock();
      order.took(this);
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
      order.check(this);
      super.lockInterruptibly();
      order.took(this);
    }

    @Override
    public boolean tryLock() {
      boolean mine = super.tryLock();
      if (mine) {
        order.took(this);
      }
      return mine;
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
      boolean mine = super.tryLock(time, unit);
      if (mine) {
        order.took(this);
      }
      return mine;
    }

    @Override
    public void unlock() {
      LockOrder.left(this);
      super.unlock();
    }

    @Override
    public Condition newCondition() {
      return new Signal(super.newCondition(), this);
    }
  }

  /** A condition. Awaiting it releases and reacquires the lock, so no later lock may be held. */
  private static final class Signal implements Condition {
    private final Condition of;
    private final Reentrant lock;

    Signal(Condition of, Reentrant lock) {
      this.of = of;
      this.lock = lock;
    }

    private void check() {
      LockOrder.left(lock);
      try {
        lock.order.check(lock);
      } finally {
        lock.order.took(lock);
      }
    }

    @Override
    public void await() throws InterruptedException {
      check();
      of.await();
    }

    @Override
    public void awaitUninterruptibly() {
      check();
      of.awaitUninterruptibly();
    }

    @Override
    public long awaitNanos(long nanos) throws InterruptedException {
      check();
      return of.awaitNanos(nanos);
    }

    @Override
    public boolean await(long time, TimeUnit unit) throws InterruptedException {
      check();
      return of.await(time, unit);
    }

    @Override
    public boolean awaitUntil(Date deadline) throws InterruptedException {
      check();
      return of.awaitUntil(deadline);
    }

    @Override
    public void signal() {
      of.signal();
    }

    @Override
    public void signalAll() {
      of.signalAll();
    }
  }

  /** Replaces {@link OperationLock}. */
  public static final class Operation extends OperationLock implements Named {
    private final Order order = new Order();

    public Operation(String name) {
      super(name);
    }

    @Override
    public Order order() {
      return order;
    }

    @Override
    public void lock(String what, Waits.Check check) {
      order.check(this);
      super.lock(what, check); // acquires it by tryLock
    }

    @Override
    public boolean lock(String what, BooleanSupplier stop) {
      order.check(this);
      return super.lock(what, stop);
    }

    @Override
    public boolean tryLock(String what) {
      boolean mine = super.tryLock(what);
      if (mine) {
        order.took(this);
      }
      return mine;
    }

    @Override
    public boolean tryLock(String what, long nanos) throws InterruptedException {
      boolean mine = super.tryLock(what, nanos);
      if (mine) {
        order.took(this);
      }
      return mine;
    }

    @Override
    public void unlock() {
      LockOrder.left(this);
      super.unlock();
    }
  }

  /** Replaces {@link SharedOperationLock}. */
  public static final class Shared extends SharedOperationLock implements Named {
    private final Order order = new Order();

    public Shared(String name) {
      super(name);
    }

    @Override
    public Order order() {
      return order;
    }

    @Override
    public void lockShared(String what, Waits.Check check) {
      order.check(this);
      super.lockShared(what, check);
      order.took(this);
    }

    @Override
    public void unlockShared() {
      LockOrder.left(this);
      super.unlockShared();
    }

    @Override
    public void lockAlone(String what, Waits.Check check) {
      order.check(this);
      super.lockAlone(what, check);
      order.took(this);
    }

    @Override
    public void unlockAlone() {
      LockOrder.left(this);
      super.unlockAlone();
    }
  }
}
