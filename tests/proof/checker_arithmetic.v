(* How the checker of certificates computes: signs, ways to write a polynomial, operators, formulas.

   The rules are those of docs/explanation/certificates.md, whose table names the theorem of each.
   What the checker decides in one order, these relations leave open: they accept all that it
   accepts, and more. Check the three files in this order, in this folder:
   coqc checker_arithmetic.v, coqc checker_definitions.v, coqc checker_statements.v. *)

From Coq Require Import ZArith Lia List.
Import ListNotations.
Open Scope Z_scope.
Arguments Z.add : simpl never.
Arguments Z.mul : simpl never.
Arguments Z.sub : simpl never.

(* Polynomials: lists of terms, each a coefficient and the numbers of its atoms. *)

Definition poly := list (Z * list nat).
Definition valuation := nat -> Z.

Fixpoint product (v : valuation) m := match m with [] => 1 | a :: rest => v a * product v rest end.
Fixpoint eval (v : valuation) (p : poly) :=
  match p with [] => 0 | (c, m) :: rest => c * product v m + eval v rest end.

Definition number c : poly := [(c, [])].
Definition atom a : poly := [(1, [a])].
Definition scale c (p : poly) : poly := map (fun '(d, m) => (c * d, m)) p.
Definition plus (p q : poly) : poly := p ++ q.
Definition minus p q := plus p (scale (-1) q).
Definition times (p q : poly) : poly :=
  flat_map (fun '(c, m) => map (fun '(d, n) => (c * d, m ++ n)) q) p.
Fixpoint put_into m a q :=
  match m with
  | [] => number 1
  | b :: rest => times (if Nat.eqb b a then q else atom b) (put_into rest a q)
  end.
Definition put a q (p : poly) : poly := flat_map (fun '(c, m) => scale c (put_into m a q)) p.

Definition at_atom (v : valuation) a x : valuation := fun b => if Nat.eqb b a then x else v b.
Definition within k (p : poly) := forall c m a, In (c, m) p -> In a m -> (a < k)%nat.

Lemma eval_number v c : eval v (number c) = c.
Proof. cbn. ring. Qed.

Lemma eval_atom v a : eval v (atom a) = v a.
Proof. cbn. ring. Qed.

Lemma eval_plus v p q : eval v (plus p q) = eval v p + eval v q.
Proof. unfold plus. induction p as [| [c m] p IH]; cbn; [ring | rewrite IH; ring]. Qed.

Lemma eval_scale v c p : eval v (scale c p) = c * eval v p.
Proof. unfold scale. induction p as [| [d m] p IH]; cbn; [ring | rewrite IH; ring]. Qed.

Lemma eval_minus v p q : eval v (minus p q) = eval v p - eval v q.
Proof. unfold minus. rewrite eval_plus, eval_scale. ring. Qed.

Lemma product_app v m n : product v (m ++ n) = product v m * product v n.
Proof. induction m as [| a m IH]; cbn; [ring | rewrite IH; ring]. Qed.

Lemma eval_times v p q : eval v (times p q) = eval v p * eval v q.
Proof.
  unfold times. induction p as [| [c m] p IH]; [reflexivity |].
  cbn. change (eval v (?x ++ ?y)) with (eval v (plus x y)). rewrite eval_plus, IH.
  enough (eval v (map (fun '(d, n) => (c * d, m ++ n)) q) = c * product v m * eval v q) by lia.
  clear. induction q as [| [d n] q IH]; cbn; [ring | rewrite IH, product_app; ring].
Qed.

Lemma product_put v m a q : eval v (put_into m a q) = product (at_atom v a (eval v q)) m.
Proof.
  induction m as [| b m IH]; [reflexivity |].
  cbn [put_into product]. rewrite eval_times, IH. unfold at_atom at 2.
  destruct (Nat.eqb b a); now rewrite ?eval_atom.
Qed.

Lemma eval_put v a q p : eval v (put a q p) = eval (at_atom v a (eval v q)) p.
Proof.
  unfold put. induction p as [| [c m] p IH]; [reflexivity |].
  cbn. change (eval v (?x ++ ?y)) with (eval v (plus x y)).
  now rewrite eval_plus, eval_scale, product_put, IH.
Qed.

Lemma eval_within k v w p : within k p -> (forall a, (a < k)%nat -> v a = w a) ->
  eval v p = eval w p.
Proof.
  intros W A. induction p as [| [c m] p IH]; [reflexivity |]. cbn. rewrite IH.
  - enough (product v m = product w m) by lia.
    assert (M : forall a, In a m -> (a < k)%nat) by (intros; apply (W c m); cbn; auto).
    clear - M A. induction m as [| a m IH]; cbn; [reflexivity |].
    rewrite (A a) by (apply M; now left). rewrite IH by (intros; apply M; now right). reflexivity.
  - intros d n a I. apply (W d n). now right.
Qed.

Lemma eval_same v w p : (forall a, v a = w a) -> eval v p = eval w p.
Proof.
  intros A. induction p as [| [c m] p IH]; [reflexivity |]. cbn. rewrite IH.
  enough (product v m = product w m) by lia. clear IH.
  induction m as [| a m IM]; cbn; [reflexivity | now rewrite A, IM].
Qed.

Lemma within_more k l p : within k p -> (k <= l)%nat -> within l p.
Proof. intros W L c m a I J. specialize (W c m a I J). lia. Qed.

(* Atoms: what is known of each. An atom whose high is the number 1 is a bit; the checker writes
   0 for one whose high is 0. *)

Record facts := { low : Z; high : option poly; rounded : option (poly * Z) }.

Definition proper (atoms : list facts) (v : valuation) := forall a, 0 <= v a /\
  forall x h c, nth_error atoms a = Some x -> high x = Some h -> (forall w, eval w h = c) ->
    v a <= c.

Definition bounded (v : valuation) a x :=
  low x <= v a /\ (forall h, high x = Some h -> v a <= eval v h) /\
  (forall i n, rounded x = Some (i, n) -> 0 < n /\ eval v i <= n * v a <= eval v i + n - 1).

Definition bounds (atoms : list facts) last (v : valuation) :=
  forall a x, (a < last)%nat -> nth_error atoms a = Some x -> bounded v a x.

Definition sound (atoms : list facts) := forall a x, nth_error atoms a = Some x ->
  0 <= low x /\ (forall h, high x = Some h -> within a h) /\
  (forall i n, rounded x = Some (i, n) -> within a i).

(* Polynomials that are equal: terms merged in any order, bits equal to their squares. *)
Definition equal atoms p q := forall v, proper atoms v -> eval v p = eval v q.

Definition positive (p : poly) := forall c m, In (c, m) p -> 0 <= c.

Lemma positive_eval v p : (forall a, 0 <= v a) -> positive p -> 0 <= eval v p.
Proof.
  intros V. induction p as [| [c m] p IH]; intros P; cbn; [lia |].
  assert (0 <= product v m) by (clear - V; induction m; cbn; [lia | specialize (V a); nia]).
  assert (0 <= c) by (apply (P c m); now left).
  enough (0 <= eval v p) by nia. apply IH. intros d n I. apply (P d n). now right.
Qed.

Inductive nonneg atoms : nat -> poly -> Prop :=
  | rule_1 last p q : equal atoms p q -> positive q -> nonneg atoms last p
  | rule_1_next last p : nonneg atoms last p -> nonneg atoms (S last) p
  | rule_2 a x h p : nth_error atoms a = Some x -> high x = Some h ->
      (forall w, eval w h = 1) ->
      nonneg atoms a (put a (number 0) p) -> nonneg atoms a (put a (number 1) p) ->
      nonneg atoms (S a) p
  | rule_3 a x i n p g k l rest more : nth_error atoms a = Some x -> rounded x = Some (i, n) ->
      equal atoms p (plus (scale g (plus (times (minus k l) (atom a)) rest)) more) ->
      0 < g -> positive k -> positive l -> positive more ->
      nonneg atoms (S a) (plus (plus (number (n - 1)) (scale n rest))
        (minus (times k i) (times l (plus i (number (n - 1)))))) ->
      nonneg atoms (S a) p
  | rule_4_high a x h p : nth_error atoms a = Some x -> high x = Some h ->
      nonneg atoms a (put a (minus h (atom a)) p) -> nonneg atoms (S a) p
  | rule_4_low a x p : nth_error atoms a = Some x ->
      nonneg atoms a (put a (plus (number (low x)) (atom a)) p) -> nonneg atoms (S a) p.

Lemma bounded_below v a b x y : (b < a)%nat -> bounded v b y ->
  (forall h, high y = Some h -> within b h) ->
  (forall i n, rounded y = Some (i, n) -> within b i) ->
  bounded (at_atom v a x) b y.
Proof.
  intros L (B & H & R) WH WR. unfold bounded.
  assert (E : at_atom v a x b = v b).
  { unfold at_atom. now rewrite (proj2 (Nat.eqb_neq b a)) by lia. }
  assert (F : forall q, within b q -> eval (at_atom v a x) q = eval v q).
  { intros q W. apply (eval_within b); trivial. intros c C. unfold at_atom.
    now rewrite (proj2 (Nat.eqb_neq c a)) by lia. }
  rewrite E. repeat split; trivial.
  - intros h I. rewrite F; auto.
  - destruct (R i n); auto.
  - rewrite F by eauto. destruct (R i n); auto; lia.
  - rewrite F by eauto. destruct (R i n); auto; lia.
Qed.

Lemma bounds_below atoms v a x : sound atoms -> bounds atoms (S a) v ->
  bounds atoms a (at_atom v a x).
Proof.
  intros W B b y L I. destruct (W b y I) as (_ & H & R).
  apply bounded_below; auto.
Qed.

Lemma proper_at atoms v a x y : proper atoms v -> nth_error atoms a = Some y -> 0 <= x ->
  (forall h c, high y = Some h -> (forall w, eval w h = c) -> x <= c) ->
  proper atoms (at_atom v a x).
Proof.
  intros P I X H b. unfold at_atom. destruct (Nat.eqb_spec b a) as [-> | N]; [| apply P].
  split; trivial. intros z h c J. rewrite I in J. injection J as <-. apply H.
Qed.

Lemma at_that_atom v a x : at_atom v a x a = x.
Proof. unfold at_atom. now rewrite Nat.eqb_refl. Qed.

Lemma twice_at v a x p : eval (at_atom (at_atom v a x) a (v a)) p = eval v p.
Proof.
  apply eval_same. intros b. unfold at_atom. now destruct (Nat.eqb_spec b a) as [-> |].
Qed.

Lemma at_self v a p : eval (at_atom v a (v a)) p = eval v p.
Proof. apply eval_same. intros b. unfold at_atom. now destruct (Nat.eqb_spec b a) as [-> |]. Qed.

Theorem nonneg_sound : forall atoms last p, sound atoms -> nonneg atoms last p ->
  forall v, proper atoms v -> bounds atoms last v -> 0 <= eval v p.
Proof.
  intros atoms last p W N.
  induction N as [last p q E P | last p N IH | a x h p I H O N0 IH0 N1 IH1
    | a x i n p g k l rest more I R E G K L M N IH | a x h p I H N IH | a x p I N IH]; intros v V B.
  - rewrite (E v V). apply positive_eval; trivial. apply V.
  - apply IH; trivial. intros a x L. apply B. lia.
  - destruct (B a x) as (LB & HB & _); [lia | trivial |]. specialize (HB h H). rewrite O in HB.
    destruct (V a) as [V0 _].
    assert (C : v a = 0 \/ v a = 1) by lia.
    rewrite <- (at_self v a p).
    destruct C as [C | C]; rewrite C; [specialize (IH0 v) | specialize (IH1 v)];
      rewrite eval_put, eval_number in *; [apply IH0 | apply IH1]; trivial;
      intros b y J; apply B; lia.
  - destruct (B a x) as (_ & _ & RB); [lia | trivial |]. destruct (RB i n R) as [NP RB'].
    specialize (IH v V B). rewrite (E v V).
    rewrite !eval_plus, eval_scale, eval_minus, !eval_times, !eval_plus, !eval_number in IH.
    rewrite eval_plus, eval_scale, eval_plus, eval_times, eval_minus, eval_atom.
    assert (0 <= eval v more) by (apply positive_eval; trivial; apply V).
    assert (0 <= eval v k) by (apply positive_eval; trivial; apply V).
    assert (0 <= eval v l) by (apply positive_eval; trivial; apply V).
    set (q := (eval v k - eval v l) * v a + eval v rest).
    assert (- n < n * q) by (unfold q; nia). assert (0 <= q) by nia. nia.
  - destruct (B a x) as (_ & HB & _); [lia | trivial |]. specialize (HB h H).
    destruct (W a x I) as (_ & WH & _). specialize (WH h H).
    specialize (IH (at_atom v a (eval v h - v a))).
    rewrite eval_put, eval_minus, eval_atom in IH.
    assert (F : forall y, eval (at_atom v a y) h = eval v h).
    { intros y. apply (eval_within a); trivial. intros b L. unfold at_atom.
      now rewrite (proj2 (Nat.eqb_neq b a)) by lia. }
    rewrite F, at_that_atom in IH.
    replace (eval v h - (eval v h - v a)) with (v a) in IH by ring.
    rewrite twice_at in IH. apply IH; [| now apply bounds_below].
    apply (proper_at _ _ _ _ x); trivial; [lia |]. intros g c G C.
    rewrite H in G. injection G as <-. rewrite C. destruct (V a). lia.
  - destruct (B a x) as (LB & _); [lia | trivial |]. destruct (W a x I) as (W0 & _).
    specialize (IH (at_atom v a (v a - low x))).
    rewrite eval_put, eval_plus, eval_number, eval_atom in IH.
    rewrite at_that_atom in IH.
    replace (low x + (v a - low x)) with (v a) in IH by ring.
    rewrite twice_at in IH. apply IH; [| now apply bounds_below].
    apply (proper_at _ _ _ _ x); trivial; [lia |]. intros g c G C.
    destruct (V a) as [_ T]. specialize (T x g c I G C). lia.
Qed.

(* Definitions, and ways to write a polynomial. *)

Inductive name := Size (i : nat) | Coordinate (k : nat) | Slot.

Record state := State {
  atoms : list facts;
  definitions : list (poly * poly);
  known : list poly;  (* at least 0, because slot p holds an element *)
  names : name -> option poly }.

Definition models v S :=
  proper (atoms S) v /\ bounds (atoms S) (length (atoms S)) v /\
  (forall x form, In (x, form) (definitions S) -> eval v x = eval v form) /\
  (forall x, In x (known S) -> 0 <= eval v x).

Definition same_value S p q := equal (atoms S) p q.
Definition nonnegative S p := nonneg (atoms S) (length (atoms S)) p.

Inductive way S : poly -> poly -> Prop :=
  | way_equal p q : same_value S p q -> way S p q
  | way_folded p q x form a k rest : In (x, form) (definitions S) ->
      same_value S form (plus (times k (atom a)) rest) -> same_value S (times k k) (number 1) ->
      way S (put a (times k (minus x rest)) p) q -> way S p q
  | way_form p q a form : In (atom a, form) (definitions S) -> way S (put a form p) q -> way S p q.

Definition same S p q := exists w, way S (minus p q) w /\ same_value S w (number 0).
Definition lies_below S p n := exists w, way S p w /\
  nonnegative S w /\ nonnegative S (minus (minus n (number 1)) w).
Definition shown S p := exists w, way S p w /\ nonnegative S w.

Lemma nonnegative_sound S v p : sound (atoms S) -> models v S -> nonnegative S p -> 0 <= eval v p.
Proof. intros W (P & B & _) N. now apply (nonneg_sound (atoms S) (length (atoms S))). Qed.

Lemma put_own v a q p : eval v q = v a -> eval v (put a q p) = eval v p.
Proof. intros E. rewrite eval_put, E. apply at_self. Qed.

Theorem way_sound : forall S v p q, models v S -> way S p q -> eval v p = eval v q.
Proof.
  intros S v p q (P & _ & D & _) W.
  induction W as [p q E | p q x form a k rest I F K W IH | p q a form I W IH].
  - now apply E.
  - rewrite <- IH. symmetry. apply put_own. rewrite eval_times, eval_minus, (D x form I), (F v P).
    specialize (K v P). rewrite eval_times, eval_number in K.
    rewrite eval_plus, eval_times, eval_atom.
    transitivity (eval v k * eval v k * v a); [ring | rewrite K; ring].
  - rewrite <- IH. symmetry. apply put_own. rewrite <- (D (atom a) form I). apply eval_atom.
Qed.

Theorem same_sound : forall S v p q, models v S -> same S p q -> eval v p = eval v q.
Proof.
  intros S v p q M [w [W E]]. apply (way_sound S v _ _ M) in W. specialize (E v (proj1 M)).
  rewrite eval_minus, E, eval_number in W. lia.
Qed.

Theorem shown_sound : forall S v p, sound (atoms S) -> models v S -> shown S p -> 0 <= eval v p.
Proof.
  intros S v p W M [w [P N]]. rewrite (way_sound S v _ _ M P). now apply (nonnegative_sound S).
Qed.

Theorem lies_below_sound : forall S v p n, sound (atoms S) -> models v S -> lies_below S p n ->
  0 <= eval v p < eval v n.
Proof.
  intros S v p n W M (w & P & N & L). rewrite (way_sound S v _ _ M P).
  apply (nonnegative_sound S v) in N, L; trivial. rewrite !eval_minus, eval_number in L. lia.
Qed.

(* Operators *)

Inductive divided S : poly -> poly -> poly -> poly -> Prop :=
  | divided_below p s q r w : nonnegative S (minus s (number 1)) ->
      way S p w -> same_value S w (plus (times q s) r) -> lies_below S r s -> divided S p s q r
  | divided_rounded p s n q r w i c x : same_value S s (number n) ->
      way S p w -> same_value S w (plus (times q s) r) ->
      nth_error (atoms S) c = Some x -> rounded x = Some (i, n) ->
      same_value S i (scale (-1) r) ->
      divided S p s (minus q (atom c)) (plus r (scale n (atom c))).

Theorem divided_sound : forall S v p s q r, sound (atoms S) -> models v S -> divided S p s q r ->
  1 <= eval v s /\ eval v q = eval v p / eval v s /\ eval v r = eval v p mod eval v s.
Proof.
  intros S v p s q r W M D. pose proof (proj1 M) as P.
  destruct D as [p s q r w N A E L | p s n q r w i c x E0 A E I R E1];
    rewrite (way_sound S v _ _ M A), (E v P), eval_plus, eval_times.
  - apply (lies_below_sound S v) in L; trivial.
    split; [lia |]. split.
    + apply (Z.div_unique_pos _ _ _ (eval v r)); lia.
    + apply (Z.mod_unique_pos _ _ (eval v q)); lia.
  - destruct M as (_ & B & _). destruct (B c x) as (_ & _ & H); trivial.
    { apply nth_error_Some. now rewrite I. }
    destruct (H i n R) as [N C]. specialize (E0 v P). specialize (E1 v P).
    rewrite eval_number in E0. rewrite eval_scale in E1.
    rewrite E0, eval_minus, eval_plus, eval_scale, eval_atom. split; [lia |]. split.
    + apply (Z.div_unique_pos _ _ _ (eval v r + n * v c)); lia.
    + apply (Z.mod_unique_pos _ _ (eval v q - v c)); lia.
Qed.

Inductive xored S : poly -> poly -> poly -> Prop :=
  | xored_0_left x y : same_value S x (number 0) -> xored S x y y
  | xored_0_right x y : same_value S y (number 0) -> xored S x y x
  | xored_bits x y k s x' a y' b z : 1 <= k -> s = 2 ^ k ->
      divided S x (number s) x' a -> divided S y (number s) y' b ->
      s = 2 \/ same_value S a (number 0) \/ same_value S b (number 0) -> xored S x' y' z ->
      xored S x y (plus (minus (plus a b) (scale 2 (times a b))) (scale s z)).

Lemma xor_by_parts x y k : 0 <= k ->
  Z.lxor x y = Z.lxor (x mod 2 ^ k) (y mod 2 ^ k) + 2 ^ k * Z.lxor (x / 2 ^ k) (y / 2 ^ k).
Proof.
  intros K. rewrite (Z.div_mod (Z.lxor x y) (2 ^ k)) by lia.
  rewrite <- !Z.shiftr_div_pow2, Z.shiftr_lxor by lia.
  enough (Z.lxor x y mod 2 ^ k = Z.lxor (x mod 2 ^ k) (y mod 2 ^ k)) by lia.
  apply Z.bits_inj'. intros b B. rewrite Z.lxor_spec. destruct (Z.lt_ge_cases b k).
  - now rewrite !Z.mod_pow2_bits_low, Z.lxor_spec by lia.
  - now rewrite !Z.mod_pow2_bits_high by lia.
Qed.

Lemma xor_of_bits a b : 0 <= a <= 1 -> 0 <= b <= 1 -> Z.lxor a b = a + b - 2 * (a * b).
Proof.
  intros A B. assert (a = 0 \/ a = 1) as [-> | ->] by lia;
  assert (b = 0 \/ b = 1) as [-> | ->] by lia; reflexivity.
Qed.

Theorem xored_sound : forall S v x y z, sound (atoms S) -> models v S -> xored S x y z ->
  eval v z = Z.lxor (eval v x) (eval v y).
Proof.
  intros S v x y z W M X. pose proof (proj1 M) as P.
  induction X as [x y E | x y E | x y k s x' a y' b z K -> DX DY C X IH].
  - rewrite (E v P), eval_number. symmetry. apply Z.lxor_0_l.
  - rewrite (E v P), eval_number. symmetry. apply Z.lxor_0_r.
  - apply (divided_sound S v) in DX as (_ & X1 & A), DY as (_ & Y1 & B); trivial.
    rewrite eval_number in *. rewrite (xor_by_parts _ _ k) by lia.
    rewrite <- A, <- B, <- X1, <- Y1, <- IH.
    rewrite eval_plus, eval_minus, eval_plus, !eval_scale, eval_times.
    enough (Z.lxor (eval v a) (eval v b) = eval v a + eval v b - 2 * (eval v a * eval v b)) by lia.
    destruct C as [C | [C | C]].
    + rewrite C in A, B. apply xor_of_bits.
      * pose proof (Z.mod_pos_bound (eval v x) 2). lia.
      * pose proof (Z.mod_pos_bound (eval v y) 2). lia.
    + rewrite (C v P), eval_number, Z.lxor_0_l. ring.
    + rewrite (C v P), eval_number, Z.lxor_0_r. ring.
Qed.

(* Formulas *)

Inductive formula :=
  | Number (c : Z)
  | Name (x : name)
  | Negative (f : formula)
  | Sum (f g : formula)
  | Difference (f g : formula)
  | Product (f g : formula)
  | Quotient (f g : formula)
  | Rest (f g : formula)
  | Xor (f g : formula).

Fixpoint value (env : name -> Z) f :=
  match f with
  | Number c => c
  | Name x => env x
  | Negative f => - value env f
  | Sum f g => value env f + value env g
  | Difference f g => value env f - value env g
  | Product f g => value env f * value env g
  | Quotient f g => value env f / value env g
  | Rest f g => value env f mod value env g
  | Xor f g => Z.lxor (value env f) (value env g)
  end.

Inductive reads S (means : name -> option poly) : formula -> poly -> Prop :=
  | reads_number c : reads S means (Number c) (number c)
  | reads_name x p : means x = Some p -> reads S means (Name x) p
  | reads_negative f p : reads S means f p ->
      reads S means (Negative f) (minus (number 0) p)
  | reads_sum f g p q : reads S means f p -> reads S means g q ->
      reads S means (Sum f g) (plus p q)
  | reads_difference f g p q : reads S means f p -> reads S means g q ->
      reads S means (Difference f g) (minus p q)
  | reads_product f g p q : reads S means f p -> reads S means g q ->
      reads S means (Product f g) (times p q)
  | reads_quotient f g p s q r : reads S means f p -> reads S means g s ->
      divided S p s q r -> reads S means (Quotient f g) q
  | reads_rest f g p s q r : reads S means f p -> reads S means g s ->
      divided S p s q r -> reads S means (Rest f g) r
  | reads_xor f g p q x : reads S means f p -> reads S means g q ->
      xored S p q x -> reads S means (Xor f g) x.

Definition matches v (means : name -> option poly) env :=
  forall x p, means x = Some p -> eval v p = env x.

Theorem reads_sound : forall S v means env f p, sound (atoms S) -> models v S ->
  matches v means env -> reads S means f p -> eval v p = value env f.
Proof.
  intros S v means env f p W M E R.
  induction R; cbn [value]; rewrite <- ?IHR, <- ?IHR1, <- ?IHR2.
  - apply eval_number.
  - now apply E.
  - rewrite eval_minus, eval_number. lia.
  - apply eval_plus.
  - apply eval_minus.
  - apply eval_times.
  - now apply (divided_sound S v) in H as (_ & H & _).
  - now apply (divided_sound S v) in H as (_ & _ & H).
  - now apply (xored_sound S v) in H.
Qed.

(* What was shown stays shown: a state that is later has more atoms, definitions and facts. *)

Definition later S T := (exists more, atoms T = atoms S ++ more) /\
  incl (definitions S) (definitions T) /\ incl (known S) (known T).

Lemma nth_later S T a x : later S T -> nth_error (atoms S) a = Some x ->
  nth_error (atoms T) a = Some x.
Proof.
  intros [[more ->] _] I. rewrite nth_error_app1; trivial. apply nth_error_Some. now rewrite I.
Qed.

Lemma equal_later S T p q : later S T -> same_value S p q -> same_value T p q.
Proof.
  intros L E v P. apply E. intros a. destruct (P a) as [V H]. split; trivial.
  intros x h c I. now apply H, (nth_later S).
Qed.

Lemma nonnegative_later S T p : later S T -> nonnegative S p -> nonnegative T p.
Proof.
  intros L N. assert (M : forall k q, nonneg (atoms S) k q -> nonneg (atoms T) k q).
  { clear p N. intros k q N. induction N as [last p q E P | | a x h p I
      | a x i n p g k l rest more I R E | a x h p I | a x p I].
    - apply (rule_1 _ _ _ q); trivial. now apply (equal_later S).
    - now apply rule_1_next.
    - apply (rule_2 _ _ x h); trivial. now apply (nth_later S).
    - apply (rule_3 _ _ x i n p g k l rest more); trivial;
        [now apply (nth_later S) | now apply (equal_later S)].
    - apply (rule_4_high _ _ x h); trivial. now apply (nth_later S).
    - apply (rule_4_low _ _ x); trivial. now apply (nth_later S). }
  apply M in N. unfold nonnegative. destruct L as [[more E] _]. rewrite E at 2.
  rewrite app_length, Nat.add_comm. induction (length more); [trivial | now apply rule_1_next].
Qed.

Lemma way_later S T p q : later S T -> way S p q -> way T p q.
Proof.
  intros L W. pose proof (proj1 (proj2 L)) as D.
  induction W as [p q E | p q x form a k rest I F K W IH | p q a form I W IH].
  - now apply way_equal, (equal_later S).
  - apply (way_folded T p q x form a k rest); trivial; [now apply D | |];
      now apply (equal_later S).
  - apply (way_form T p q a form); trivial. now apply D.
Qed.

Lemma below_later S T p n : later S T -> lies_below S p n -> lies_below T p n.
Proof.
  intros L (w & W & A & B). exists w.
  split; [now apply (way_later S) | split; now apply (nonnegative_later S)].
Qed.

Lemma divided_later S T p s q r : later S T -> divided S p s q r -> divided T p s q r.
Proof.
  intros L [].
  - eapply divided_below; eauto using nonnegative_later, way_later, equal_later, below_later.
  - eapply divided_rounded; eauto using nth_later, way_later, equal_later.
Qed.

Theorem stays_shown : forall S T means f p, later S T -> reads S means f p -> reads T means f p.
Proof.
  intros S T means f p L R. assert (X : forall x y z, xored S x y z -> xored T x y z).
  { intros x y z X. induction X; [apply xored_0_left | apply xored_0_right |];
      eauto using equal_later. eapply xored_bits; eauto using divided_later.
    intuition eauto using equal_later. }
  induction R; econstructor; eauto using divided_later.
Qed.
