package bank;

import io.fovea.schema.Id;

record Account(@Id long number, String owner, long cents) {
  Account plus(long amount) {
    return new Account(number, owner, cents + amount);
  }
}
