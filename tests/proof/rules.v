(* The rules of the simplifier, proved for all integers and all positive sizes.

   Each theorem is what the docstring of the rule of its name says in morello_layouts/expr/rules.py;
   tests/proof/test_coq.py prints it from there and compares. Lemmas are only steps. Check it by
   coqc tests/proof/rules.v, which says nothing if all is proved.

   x // s is Coq's quotient, which rounds down as Python's does for s > 0; xor is Python's ^. A
   modulus that may be absent is 0, since x mod 0 is x, and each number divides 0. *)

From Coq Require Import ZArith Znumtheory Lia List.
Import ListNotations.
Open Scope Z_scope.

Notation "x // s" := (Z.div x s) (at level 40, left associativity).
Infix "xor" := Z.lxor (at level 55, left associativity).
Notation "'max' ( x , y )" := (Z.max x y).
Notation "'max' ( x , y , z )" := (Z.max (Z.max x y) z).
Notation "'min' ( x , y )" := (Z.min x y).
Notation "'min' ( x , y , z )" := (Z.min (Z.min x y) z).
Notation "'select' ( c , x , y )" := (if c =? 0 then (y : Z) else (x : Z)).
Definition ge0 x := if 0 <=? x then 1 else 0.
Definition eq0 x := if x =? 0 then 1 else 0.
Definition ne0 x := if x =? 0 then 0 else 1.
Definition power_of_two n := exists i, 0 <= i /\ n = 2 ^ i.

(* Digits *)

Lemma absent_modulus x : x mod 0 = x.
Proof. apply Zmod_0_r. Qed.

Lemma div_add a b s : 0 < s -> (s * a + b) // s = a + b // s.
Proof. intros. replace (s * a + b) with (b + a * s) by ring. rewrite Z.div_add; lia. Qed.

Lemma mod_add a b n : (n * a + b) mod n = b mod n.
Proof.
  destruct (Z.eq_dec n 0) as [-> | N]; [now rewrite !absent_modulus |].
  replace (n * a + b) with (b + a * n) by ring. now apply Z.mod_add.
Qed.

Lemma digit_add a b s n : 0 < s -> ((s * n * a + b) // s) mod n = (b // s) mod n.
Proof.
  intros. replace (s * n * a + b) with (s * (n * a) + b) by ring.
  now rewrite div_add, mod_add.
Qed.

Lemma small_div r s : 0 <= r <= s - 1 -> r // s = 0.
Proof. intros. apply Z.div_small. lia. Qed.

Lemma block_div x s q : 0 < s -> q * s <= x <= q * s + s - 1 -> x // s = q.
Proof. intros. replace x with (s * q + (x - q * s)) by ring. rewrite div_add, small_div; lia. Qed.

Lemma mod_mul x n m : 0 < n -> 0 <= m -> x mod n + n * ((x // n) mod m) = x mod (n * m).
Proof.
  intros. destruct (Z.eq_dec m 0) as [-> | M].
  - rewrite Z.mul_0_r, !absent_modulus. pose proof (Z.div_mod x n). lia.
  - rewrite Z.rem_mul_r; lia.
Qed.

Lemma join x s n m : 0 < s -> 0 < n -> 0 <= m ->
  (x // s) mod n + n * ((x // (s * n)) mod m) = (x // s) mod (n * m).
Proof. intros. now rewrite <- Z.div_div, mod_mul by lia. Qed.

Lemma mod_div y s m : 0 < s -> 0 <= m -> (y mod (s * m)) // s = (y // s) mod m.
Proof.
  intros. rewrite <- mod_mul, Z.add_comm, div_add by lia.
  rewrite (small_div (y mod s)); [lia |]. pose proof (Z.mod_pos_bound y s). lia.
Qed.

Lemma mod_mod y n k : 0 <= n -> (y mod (n * k)) mod n = y mod n.
Proof.
  intros. destruct (Z.eq_dec n 0) as [-> | N]; [now rewrite Z.mul_0_l, !absent_modulus |].
  destruct (Z.eq_dec k 0) as [-> | K]; [now rewrite Z.mul_0_r, absent_modulus |].
  pose proof (Z.div_mod y (n * k)).
  replace y with (n * (k * (y // (n * k))) + y mod (n * k)) at 2 by nia. now rewrite mod_add.
Qed.

Theorem identity : forall x, (x // 1) = x /\ x mod 1 = 0.
Proof. intros. split; [apply Z.div_1_r | apply Z.mod_1_r]. Qed.

Theorem constant : forall x s n q, 0 < s -> 0 <= n ->
  q <= (x // s) mod n <= q -> (x // s) mod n = q.
Proof. lia. Qed.

Theorem drop_mod : forall x s n q, 0 < s -> 0 < n ->
  q * s * n <= x <= q * s * n + s * n - 1 -> (x // s) mod n = x // s - q * n.
Proof.
  intros. assert (E : x // (s * n) = q) by (apply block_div; nia).
  rewrite <- Z.div_div in E by lia. pose proof (Z.div_mod (x // s) n). lia.
Qed.

Theorem flatten_nested : forall y t m s n k, 0 < t -> 0 <= m -> 0 < s -> 0 <= n -> 0 <= k ->
  (m = 0 /\ k = n \/
   (s | m) /\ ((n | m/s) /\ k = n \/ (m/s | n) /\ k = m/s)) ->
  (((y // t) mod m) // s) mod n = (y // (t * s)) mod k.
Proof.
  intros y t m s n k T M S N K [[-> ->] | [[g ->] H]].
  - now rewrite absent_modulus, Z.div_div by lia.
  - rewrite Z.div_mul in H by lia. assert (0 <= g) by nia.
    rewrite (Z.mul_comm g s), mod_div, Z.div_div by lia.
    destruct H as [[[i ->] ->] | [[i ->] ->]]; [rewrite (Z.mul_comm i); now apply mod_mod |].
    destruct (Z.eq_dec g 0) as [-> | G]; [now rewrite Z.mul_0_r, !absent_modulus |].
    destruct (Z.eq_dec i 0) as [-> | I]; [now rewrite Z.mul_0_l, absent_modulus |].
    pose proof (Z.mod_pos_bound (y // (t * s)) g). apply Z.mod_small. nia.
Qed.

Theorem extract_multiples : forall s y r n, 0 < s -> 0 < n ->
  (s * y + r) // s = y + r // s /\ ((s * n * y + r) // s) mod n = (r // s) mod n.
Proof. intros. split; [now apply div_add | now apply digit_add]. Qed.

Theorem affine_on_box : forall x s n y z, 0 < s -> 0 <= n ->
  0 <= x - s * y <= s - 1 -> (n = 0 /\ z = 0 \/ 0 <= x - s * n * z <= s * n - 1) ->
  (x // s) mod n = y - n * z.
Proof.
  intros x s n y z S N H D. assert (E : x // s = y) by (apply block_div; lia).
  destruct D as [[-> ->] | D]; [rewrite absent_modulus; lia |].
  rewrite (drop_mod x s n z); nia.
Qed.

Theorem drop_remainder : forall g y r s n q, 0 < g -> 0 < s -> 0 <= n ->
  (g | s) -> q * g <= r <= q * g + g - 1 ->
  ((g * y + r) // s) mod n = ((y + q) // (s/g)) mod n.
Proof.
  intros g y r s n q G S N [k ->] R. assert (0 < k) by nia.
  rewrite Z.div_mul, (Z.mul_comm k g), <- Z.div_div, div_add by lia.
  now rewrite (block_div r g q).
Qed.

Theorem split_remainder : forall g y r s n q, 0 < g -> 0 < s -> 0 <= n ->
  (s | g) -> (g | s * n) -> q * g <= r <= q * g + g - 1 ->
  ((g * y + r) // s) mod n = (g/s) * ((y + q) mod (n * s/g)) + (r - q * g) // s.
Proof.
  intros g y r s n q G S N [k ->] [m M] R. assert (0 < k) by nia. assert (0 <= m) by nia.
  assert (n = k * m) as -> by nia. rewrite Z.div_mul by lia.
  replace (k * m * s) with (m * (k * s)) by ring. rewrite Z.div_mul by lia.
  replace (k * s * y + r) with (s * (k * (y + q)) + (r - q * (k * s))) by ring.
  assert (U : 0 <= r - q * (k * s) < s * k) by lia.
  revert U. generalize (r - q * (k * s)) as u. intros.
  assert (0 <= u // s <= k - 1).
  { split; [apply Z.div_pos; lia |]. enough (u // s < k) by lia. apply Z.div_lt_upper_bound; lia. }
  rewrite div_add, <- mod_mul, mod_add, div_add, (small_div (u // s)), Z.add_0_r by lia.
  rewrite Z.mod_small by lia. ring.
Qed.

Theorem drop_inner_mod : forall c u m r s n, 0 <= m -> 0 < s -> 0 <= n ->
  (s * n | c * m) -> ((c * (u mod m) + r) // s) mod n = ((c * u + r) // s) mod n.
Proof.
  intros c u m r s n M S N [k D].
  assert (c * u = s * n * (k * (u // m)) + c * (u mod m)) as ->.
  { destruct (Z.eq_dec m 0) as [-> | Z].
    - rewrite absent_modulus, Zdiv_0_r. ring.
    - replace (s * n * (k * (u // m))) with (c * m * (u // m)) by (rewrite D; ring).
      rewrite (Z.div_mod u m Z) at 1. ring. }
  now rewrite <- Z.add_assoc, digit_add.
Qed.

Theorem flatten_inner_div : forall y u g s n, 0 < g -> 0 < s -> 0 <= n ->
  ((y + u // g) // s) mod n = ((g * y + u) // (g * s)) mod n.
Proof. intros. now rewrite <- Z.div_div, div_add by lia. Qed.

(* Sums *)

Theorem join_digits : forall c x s n m, 0 < s -> 0 < n -> 0 <= m ->
  c * ((x // s) mod n) + c * n * ((x // (s * n)) mod m) = c * ((x // s) mod (n * m)).
Proof. intros. rewrite <- join by lia. ring. Qed.

Theorem join_shifted : forall c x s n p m, 0 < s -> 0 < n -> 0 <= m -> (s * n | p) -> c * ((x //
  s) mod n) + c * n * (((x + p) // (s * n)) mod m) = c * (((x + p) // s) mod (n * m)).
Proof.
  intros c x s n p m S N M [k ->]. rewrite <- (join (x + k * (s * n)) s n m) by lia.
  replace (x + k * (s * n)) with (s * n * k + x) at 2 by ring. rewrite digit_add by lia. ring.
Qed.

Theorem turn_floor : forall s x, 0 < s -> (s - 1 - x) // s = -(x // s).
Proof.
  intros s x S. apply (block_div _ _ (- (x // s))); pose proof (Z.div_mod x s);
    pose proof (Z.mod_pos_bound x s); nia.
Qed.

Theorem constant_variable : forall c v q, q <= v <= q -> c * v = c * q.
Proof. intros. replace v with q; lia. Qed.

Lemma quotient_of_modulus n m : 0 < n -> 0 <= m -> ((n | m) \/ m = 0) ->
  m = n * (m/n) /\ 0 <= m/n.
Proof.
  intros ? ? [[k ->] | ->]; [rewrite Z.div_mul by lia | rewrite Z.div_0_l by lia]; nia.
Qed.

Theorem fold_div_mod : forall c x s m n, 0 < s -> 0 <= m -> 0 < n -> ((n | m) \/ m = 0) ->
  c * ((x // s) mod m) - c * n * ((x // (s * n)) mod (m/n)) = c * ((x // s) mod n).
Proof.
  intros. destruct (quotient_of_modulus n m) as [E K]; trivial.
  pose proof (join x s n (m/n)) as J. rewrite <- E in J. rewrite <- J by lia. ring.
Qed.

Theorem subtract_mod : forall c x s m n, 0 < s -> 0 <= m -> 0 < n -> ((n | m) \/ m = 0) ->
  c * ((x // s) mod m) - c * ((x // s) mod n) = c * n * ((x // (s * n)) mod (m/n)).
Proof. intros. rewrite <- (fold_div_mod c x s m n) by trivial. ring. Qed.

Theorem reduce_factor : forall c v r s n e, 0 < s -> 0 <= n ->
  e = Z.sgn c * (Z.abs c mod (s * n)) ->
  ((c * v + r) // s) mod n = ((e * v + r) // s) mod n.
Proof.
  intros c v r s n e S N E. assert (exists q, c = e + s * n * q) as [q ->].
  { exists (Z.sgn c * (Z.abs c // (s * n))). rewrite E. pose proof (Z.sgn_abs c).
    destruct (Z.eq_dec (s * n) 0) as [Z | Z].
    - rewrite Z, absent_modulus. lia.
    - pose proof (Z.div_mod (Z.abs c) (s * n) Z). nia. }
  replace ((e + s * n * q) * v + r) with (s * n * (q * v) + (e * v + r)) by ring.
  now apply digit_add.
Qed.

Theorem split_middle : forall c x s n e, 0 < s -> 0 < n ->
  c * ((x // s) mod n) + e * (x // (s * n)) =
  c * (x // s) + (e - c * n) * (x // (s * n)).
Proof.
  intros. pose proof (join x s n 0) as J. rewrite Z.mul_0_r, !absent_modulus in J.
  rewrite <- (J H H0) at 2 by lia. ring.
Qed.

(* Exclusive ors *)

Lemma xor_div x y s : power_of_two s -> (x xor y) // s = x // s xor y // s.
Proof.
  intros [i [I ->]]. rewrite <- !Z.shiftr_div_pow2 by lia. apply Z.shiftr_lxor.
Qed.

Lemma xor_mod x y n : power_of_two n -> (x xor y) mod n = x mod n xor y mod n.
Proof.
  intros [i [I ->]]. apply Z.bits_inj'. intros b B. rewrite Z.lxor_spec.
  destruct (Z.lt_ge_cases b i).
  - now rewrite !Z.mod_pow2_bits_low, Z.lxor_spec by lia.
  - now rewrite !Z.mod_pow2_bits_high by lia.
Qed.

Theorem push_into_xor : forall x y s n, 0 < s -> 0 <= n ->
  power_of_two s -> (n = 0 \/ power_of_two n) ->
  ((x xor y) // s) mod n = ((x // s) mod n) xor ((y // s) mod n).
Proof.
  intros x y s n _ _ S [-> | N]; rewrite xor_div by trivial.
  - now rewrite !absent_modulus.
  - now apply xor_mod.
Qed.

Theorem xor_nested : forall x y z, (x xor (y xor z)) = x xor y xor z.
Proof. intros. symmetry. apply Z.lxor_assoc. Qed.

Theorem xor_equal : forall x y, (x xor x) xor y = y.
Proof. intros. rewrite Z.lxor_nilpotent. apply Z.lxor_0_l. Qed.

Theorem xor_numbers : forall x p q r, r = p xor q ->
  (x xor 0) = x /\ x xor p xor q = x xor r.
Proof. intros x p q r ->. split; [apply Z.lxor_0_r | apply Z.lxor_assoc]. Qed.

Lemma by_halves g x y : 0 < g -> x // g = y // g -> x mod g = y mod g -> x = y.
Proof. intros. rewrite (Z.div_mod x g), (Z.div_mod y g); congruence || lia. Qed.

Lemma xor_below g r u : power_of_two g -> 0 <= r <= g - 1 -> 0 <= u <= g - 1 ->
  0 <= r xor u <= g - 1.
Proof.
  intros G R U. assert (0 < g) by lia.
  rewrite <- (Z.mod_small r g), <- (Z.mod_small u g), <- xor_mod by trivial || lia.
  pose proof (Z.mod_pos_bound (r xor u) g). lia.
Qed.

Theorem xor_split : forall g x r y u, 0 < g -> power_of_two g /\ 1 < g ->
  0 <= r <= g - 1 /\ 0 <= u <= g - 1 ->
  (g * x + r) xor (g * y + u) = g * (x xor y) + (r xor u).
Proof.
  intros g x r y u G [P _] [R U]. pose proof (xor_below g r u P R U).
  apply (by_halves g); trivial.
  - now rewrite xor_div, !div_add, !small_div, !Z.add_0_r by trivial.
  - now rewrite xor_mod, !mod_add, !Z.mod_small by trivial || lia.
Qed.

(* Choices: min, max, select and comparisons, which are 1 or 0 *)

Ltac by_cases := unfold ge0, eq0, ne0 in *; repeat match goal with
  | |- context [?a <=? ?b] => destruct (Z.leb_spec a b)
  | |- context [?a =? ?b] => destruct (Z.eqb_spec a b)
  | |- context [Z.max ?a ?b] => destruct (Z.max_spec a b) as [[? ->] | [? ->]]
  | |- context [Z.min ?a ?b] => destruct (Z.min_spec a b) as [[? ->] | [? ->]]
  end; try lia; try nia.

Theorem extremum_nested : forall x y z, max(x, max(y, z)) = max(x, y, z) /\ min(x, min(y, z)) =
  min(x, y, z).
Proof. lia. Qed.

Theorem extremum_decided : forall x y, 0 <= x - y -> max(x, y) = x /\ min(x, y) = y.
Proof. lia. Qed.

Theorem extremum_shift : forall x z y, max(x + z, y + z) = max(x, y) + z /\ min(x + z, y + z) =
  min(x, y) + z.
Proof. lia. Qed.

Theorem extremum_scale : forall g x y, 0 < g -> max(g * x, g * y) = g * max(x, y) /\ min(g * x, g
  * y) = g * min(x, y) /\ max(-g * x, -g * y) = -g * min(x, y) /\ min(-g * x, -g * y) = -g *
  max(x, y).
Proof. intros. repeat split; by_cases. Qed.

Theorem extremum_bit : forall x, 0 <= 1 - x -> max(x, 0) = (ge0 (x - 1)) /\ min(-x, 0) = -(ge0 (x
  - 1)).
Proof. intros. split; by_cases. Qed.

Theorem extremum_cancel : forall p x y z, p * max(x, y) + z - p * x = p * max(0, y - x) + z /\ p *
  min(x, y) + z - p * x = p * min(0, y - x) + z.
Proof.
  intros. replace (Z.max 0 (y - x)) with (Z.max x y - x) by lia.
  replace (Z.min 0 (y - x)) with (Z.min x y - x) by lia. split; ring.
Qed.

Lemma div_max x y s : 0 < s -> Z.max x y // s = Z.max (x // s) (y // s).
Proof.
  intros. destruct (Z.max_spec x y) as [[? ->] | [? ->]];
    pose proof (Z.div_le_mono x y s); pose proof (Z.div_le_mono y x s); lia.
Qed.

Lemma div_min x y s : 0 < s -> Z.min x y // s = Z.min (x // s) (y // s).
Proof.
  intros. destruct (Z.min_spec x y) as [[? ->] | [? ->]];
    pose proof (Z.div_le_mono x y s); pose proof (Z.div_le_mono y x s); lia.
Qed.

Theorem push_into_choice : forall g x y r s p c n, 0 < g -> 0 < s -> 0 <= n -> (g * max(x, y) + r)
  // s = max((g * x + r) // s, (g * y + r) // s) /\ (g * min(x, y) + r) // s = min((g * x + r) //
  s, (g * y + r) // s) /\ (r - g * max(x, y)) // s = min((r - g * x) // s, (r - g * y) // s) /\ (r
  - g * min(x, y)) // s = max((r - g * x) // s, (r - g * y) // s) /\ ((p * select(c, x, y) + r) //
  s) mod n = select(c, ((p * x + r) // s) mod n, ((p * y + r) // s) mod n).
Proof.
  intros. rewrite <- !div_max, <- !div_min by lia.
  repeat split; try (f_equal; by_cases); by_cases; reflexivity.
Qed.

Theorem compare_decided : forall x y, 0 <= x -> 1 <= -y -> (ge0 (x)) = 1 /\ (ge0 (y)) = 0.
Proof. intros. split; by_cases. Qed.

Theorem compare_bit : forall x, -1 <= x <= 0 -> (ge0 (x)) = x + 1.
Proof. intros. by_cases. Qed.

Theorem compare_scale : forall g y r q, 0 < g -> q * g <= r <= q * g + g - 1 -> (ge0 (g * y + r))
  = (ge0 (y + q)).
Proof. intros. by_cases. Qed.

Theorem compare_floor : forall x s q, 0 < s -> (ge0 (x // s + q)) = (ge0 (x + s * q)) /\ (ge0 (q -
  x // s)) = (ge0 (s * q + s - 1 - x)).
Proof.
  intros x s q S. pose proof (Z.div_mod x s). pose proof (Z.mod_pos_bound x s). split; by_cases.
Qed.

Theorem equal_decided : forall x y, (1 <= x \/ 1 <= -x) -> 0 <= y <= 0 -> (eq0 (x)) = 0 /\ (eq0
  (y)) = 1 /\ (ne0 (x)) = 1 /\ (ne0 (y)) = 0.
Proof. intros. repeat split; by_cases. Qed.

Theorem equal_bit : forall x, 0 <= x <= 1 -> (eq0 (x)) = 1 - x /\ (ne0 (x)) = x /\ (eq0 (-x)) = 1
  - x /\ (ne0 (-x)) = x.
Proof. intros. repeat split; by_cases. Qed.

Theorem equal_scale : forall g y r, 0 < g -> 1 <= r <= g - 1 -> (eq0 (g * y)) = (eq0 (y)) /\ (ne0
  (g * y)) = (ne0 (y)) /\ (eq0 (g * y + r)) = 0 /\ (ne0 (g * y + r)) = 1.
Proof.
  intros g y r G R. assert (y <= -1 \/ y = 0 \/ 1 <= y) as [Y | [-> | Y]] by lia;
    repeat split; by_cases.
Qed.

Theorem select_decided : forall c x y e, (1 <= c \/ 1 <= -c) -> 0 <= e <= 0 -> select(c, x, y) = x
  /\ select(e, x, y) = y.
Proof. intros. split; by_cases. Qed.

Theorem select_equal : forall c x, select(c, x, x) = x.
Proof. intros. by_cases. Qed.

Theorem select_extremum : forall x z g, 0 < g -> select((ge0 (x)), z + g * x, z) = max(z + g * x,
  z) /\ select((ge0 (x)), z + g * x + g, z) = max(z + g * x + g, z) /\ select((ge0 (x)), z - g *
  x, z) = min(z - g * x, z) /\ select((ge0 (x)), z - g * x - g, z) = min(z - g * x - g, z).
Proof. intros. repeat split; by_cases. Qed.

Theorem select_shift : forall c x z y, select(c, x + z, y + z) = select(c, x, y) + z.
Proof. intros. by_cases. Qed.

Theorem select_number : forall c p, 0 <= c <= 1 -> select(c, p, 0) = p * c.
Proof. intros c p C. assert (c = 0 \/ c = 1) as [-> | ->] by lia; by_cases. Qed.

Theorem select_swap : forall c y, 0 <= c <= 1 -> select(c, 0, y) = select(1 - c, y, 0).
Proof. intros c y C. assert (c = 0 \/ c = 1) as [-> | ->] by lia; by_cases. Qed.

Theorem compare_not : forall p x c e, p - p * (ge0 (x)) = p * (ge0 (-x - 1)) /\ p - p * (eq0 (x))
  = p * (ne0 (x)) /\ p - p * min(c, e) = p * max(1 - c, 1 - e) /\ p - p * max(c, e) = p * min(1 -
  c, 1 - e).
Proof.
  intros. replace (Z.max (1 - c) (1 - e)) with (1 - Z.min c e) by lia.
  replace (Z.min (1 - c) (1 - e)) with (1 - Z.max c e) by lia.
  repeat split; try ring; by_cases.
Qed.

(* Rules for more than two parts apply the rules for two again. *)

Fixpoint xor_all parts := match parts with [] => 0 | x :: rest => x xor xor_all rest end.

Lemma xor_all_parts_split g parts : power_of_two g -> 1 < g ->
  (forall x r, In (x, r) parts -> 0 <= r <= g - 1) ->
  xor_all (map (fun '(x, r) => g * x + r) parts) =
    g * xor_all (map fst parts) + xor_all (map snd parts) /\
  0 <= xor_all (map snd parts) <= g - 1.
Proof.
  intros P G. induction parts as [| [x r] rest IH]; intros H; [cbn; lia |].
  destruct IH as [E B]; [intros; apply (H x0); now right |].
  assert (0 <= r <= g - 1) by (apply (H x); now left).
  cbn. rewrite E. split; [apply xor_split; auto; lia | now apply xor_below].
Qed.

Fixpoint digits x s moduli :=
  match moduli with [] => 0 | n :: rest => (x // s) mod n + n * digits x (s * n) rest end.

Lemma join_all_digits x s moduli m : 0 < s -> (forall n, In n moduli -> 0 < n) -> 0 <= m ->
  digits x s (moduli ++ [m]) = (x // s) mod (fold_right Z.mul m moduli) /\
  0 <= fold_right Z.mul m moduli.
Proof.
  intros S H M. revert s S. induction moduli as [| n rest IH]; intros; [cbn; lia |].
  assert (0 < n) by (apply H; now left).
  destruct (IH (fun n I => H n (or_intror I)) (s * n)) as [E B]; [lia |].
  cbn. split; [rewrite E; apply join; lia | lia].
Qed.
