(* What the eight claims state, and that an accepted certificate states what is true. *)

From Coq Require Import ZArith Lia List Permutation.
Import ListNotations.
Require Import checker_arithmetic checker_definitions.
Open Scope Z_scope.
Arguments Z.add : simpl never.
Arguments Z.mul : simpl never.
Arguments Z.sub : simpl never.


(* Certificates, and what they state *)

Record size_given := { step : Z; least : Z; most : option Z }.
Record certificate := {
  size_names : list size_given;
  shape : list formula;
  offset : formula;
  inverse : list formula;
  size : formula;
  end_ : formula;  (* the size, but in a verified claim *)
  padding : formula;
  others : list formula;
  limits : list (formula * formula);
  source : formula;
  view : list formula;
  other_shape : list formula;
  order : list nat;
  other_order : list nat }.

Definition given_sizes C g := exists i x, nth_error (size_names C) i = Some x /\
  g = IsSize i (step x) (least x) (most x).
Definition sizes_hold C s := forall d p g, given_sizes C g -> holds s d p g.
Definition inside ns s (d : nat -> Z) :=
  forall k n, nth_error ns k = Some n -> 0 <= d k < sized s n.
Definition element C s d := sizes_hold C s /\ inside (shape C) s d.
Definition offset_of C s d := value (env s d 0) (offset C).
Definition at_slot s p f := value (env s none p) f.
Definition listed (fs : list formula) k := nth k fs (Number 0).
Definition total s ns := fold_right (fun n x => sized s n * x) 1 ns.
Definition is_order o (ns : list formula) := Permutation o (seq 0 (length ns)).
Definition place s ns o (d : nat -> Z) :=
  fold_left (fun x k => x * sized s (listed ns k) + d k) o 0.

Definition apart C := forall s d, element C s d -> length (inverse C) = length (shape C) /\
  forall k f, nth_error (inverse C) k = Some f -> at_slot s (offset_of C s d) f = d k.
Definition bounded_by C n := forall s d, element C s d -> 0 <= offset_of C s d < sized s n.
Definition limited C := forall s d, element C s d -> forall f n, In (f, n) (limits C) ->
  at_slot s (offset_of C s d) f < sized s n.
Definition full C := forall s p, sizes_hold C s -> 0 <= p < sized s (end_ C) ->
  (forall f n, In (f, n) (limits C) -> at_slot s p f < sized s n) ->
  let d k := at_slot s p (listed (inverse C) k) in element C s d /\ offset_of C s d = p.
Definition equal_to_others C := forall s d, element C s d -> forall f, In f (others C) ->
  value (env s d 0) f = offset_of C s d.
Definition padded C := forall s, sizes_hold C s ->
  sized s (padding C) = sized s (size C) - total s (shape C).
Definition ends_inside C := forall s, sizes_hold C s -> sized s (end_ C) <= sized s (size C).
Definition moved C := forall s d, element C s d -> forall f, In f (others C) ->
  at_slot s (value (env s d 0) f) (source C) = offset_of C s d.
Definition viewed C := (forall s, sizes_hold C s -> total s (other_shape C) = total s (shape C)) /\
  forall s d, element C s d -> let e k := value (env s d 0) (listed (view C) k) in
  is_order (order C) (shape C) /\ is_order (other_order C) (other_shape C) /\
  inside (other_shape C) s e /\
  place s (other_shape C) (other_order C) e = place s (shape C) (order C) d /\
  forall f, In f (others C) -> value (env s e 0) f = offset_of C s d.

Theorem apart_is_injective : forall C s d e, apart C -> element C s d -> element C s e ->
  offset_of C s d = offset_of C s e -> forall k, (k < length (shape C))%nat -> d k = e k.
Proof.
  intros C s d e A D E O k K. destruct (A s d D) as [L AD]. destruct (A s e E) as [_ AE].
  rewrite <- L in K. apply nth_error_Some in K.
  destruct (nth_error (inverse C) k) as [f |] eqn:F; [| contradiction].
  rewrite <- (AD k f F), O. now apply AE.
Qed.

(* Acceptance: a run, and questions that it answers. Of a variable that is taken value by value there
   is a run for each value, in which the variable is that number. *)

Definition in_elements C P := In (Number 0) (shape C) \/
  forall d, (exists s, element C s d) -> exists gs S o, run gs S /\
  (forall g, In g gs -> given_sizes C g \/
    exists k n, nth_error (shape C) k = Some n /\
      (g = IsBelow (Coordinate k) n \/ g = IsNumber (Coordinate k) (d k))) /\
  reads S (of_element S (coordinates S)) (offset C) o /\ P S o.

Definition reads_size S f q := reads S (of_sizes S) f q.
Definition of_sizes_alone C P := exists gs S, run gs S /\
  (forall g, In g gs -> given_sizes C g) /\ P S.

Definition apart_shown C := in_elements C (fun S o => length (inverse C) = length (shape C) /\
  forall k f, nth_error (inverse C) k = Some f -> exists q x, reads S (of_slot S o) f q /\
  names S (Coordinate k) = Some x /\ same S q x).
Definition bounded_shown C n := in_elements C (fun S o =>
  exists q, reads_size S n q /\ lies_below S o q).
Definition limited_shown C := in_elements C (fun S o => forall f n, In (f, n) (limits C) ->
  exists p q, reads S (of_slot S o) f p /\ reads_size S n q /\
  shown S (minus (minus q (number 1)) p)).
Definition equal_shown C := in_elements C (fun S o => forall f, In f (others C) ->
  exists q, reads S (of_element S (coordinates S)) f q /\ same S q o).
Definition moved_shown C := in_elements C (fun S o => forall f, In f (others C) ->
  exists p q, reads S (of_element S (coordinates S)) f p /\ reads S (of_slot S p) (source C) q /\
  same S q o).

Definition full_shown C :=
  In (Number 0) (shape C) /\ of_sizes_alone C (fun S =>
    exists q, reads_size S (end_ C) q /\ same_value S q (number 0)) \/
  length (inverse C) = length (shape C) /\
  forall t, (exists s, sizes_hold C s /\ 0 <= t < sized s (end_ C)) ->
  exists gs S p o (back : list poly), run gs S /\
  (forall g, In g gs -> given_sizes C g \/ g = IsBelow Slot (end_ C) \/ g = IsNumber Slot t \/
    exists f n, In (f, n) (limits C) /\ g = IsLimited f n) /\
  names S Slot = Some p /\ length back = length (inverse C) /\
  (forall k f n q, nth_error (inverse C) k = Some f -> nth_error (shape C) k = Some n ->
    nth_error back k = Some q -> reads S (of_slot S p) f q /\
    exists m, reads_size S n m /\ lies_below S q m) /\
  reads S (of_element S (nth_error back)) (offset C) o /\ same S o p.

Inductive reads_total S : list formula -> poly -> Prop :=
  | total_of_none : reads_total S [] (number 1)
  | total_of_more n ns q x : reads_size S n q -> reads_total S ns x ->
      reads_total S (n :: ns) (times q x).

Definition padded_shown C := of_sizes_alone C (fun S => exists x y z,
  reads_size S (padding C) x /\ reads_size S (size C) y /\ reads_total S (shape C) z /\
  same S x (minus y z)).
Definition ends_shown C := of_sizes_alone C (fun S => exists x y,
  reads_size S (end_ C) x /\ reads_size S (size C) y /\ shown S (minus y x)).

Inductive reads_place S (ns : list formula) (ds : nat -> option poly) :
  list nat -> poly -> poly -> Prop :=
  | place_of_none x : reads_place S ns ds [] x x
  | place_of_more k o x q d y : reads_size S (listed ns k) q -> ds k = Some d ->
      reads_place S ns ds o (plus (times x q) d) y -> reads_place S ns ds (k :: o) x y.

Definition viewed_shown C := of_sizes_alone C (fun S => exists x y,
    reads_total S (other_shape C) x /\ reads_total S (shape C) y /\ same S x y) /\
  in_elements C (fun S o => exists (es : list poly) x y,
    is_order (order C) (shape C) /\ is_order (other_order C) (other_shape C) /\
    length es = length (view C) /\ length (view C) = length (other_shape C) /\
    (forall k f n q, nth_error (view C) k = Some f -> nth_error (other_shape C) k = Some n ->
      nth_error es k = Some q -> reads S (of_element S (coordinates S)) f q /\
      exists m, reads_size S n m /\ lies_below S q m) /\
    reads_place S (other_shape C) (nth_error es) (other_order C) (number 0) x /\
    reads_place S (shape C) (coordinates S) (order C) (number 0) y /\ same S x y /\
    forall f, In f (others C) ->
      exists q, reads S (of_element S (nth_error es)) f q /\ same S q o).

Lemma no_element C s d : In (Number 0) (shape C) -> element C s d -> False.
Proof.
  intros I [_ E]. apply In_nth_error in I as [k K]. specialize (E k _ K). cbn in E. lia.
Qed.

Lemma at_slot_sound v S s d p f o q : world v S s d p -> reads S (of_slot S o) f q ->
  eval v q = at_slot s (eval v o) f.
Proof.
  intros (W & M & E) R. apply (reads_sound S v (of_slot S o)); trivial; [apply W |].
  eapply matches_slot; eauto.
Qed.

Lemma element_sound v S s d p ds e f q : world v S s d p ->
  (forall k q, ds k = Some q -> eval v q = e k) -> reads S (of_element S ds) f q ->
  eval v q = value (env s e 0) f.
Proof.
  intros (W & M & E) D R. apply (reads_sound S v (of_element S ds)); trivial; [apply W |].
  now apply (matches_element S v s d p).
Qed.

Lemma coordinates_of v S s d p : world v S s d p ->
  forall k q, coordinates S k = Some q -> eval v q = d k.
Proof. intros (_ & _ & E) k q. apply (E (Coordinate k)). Qed.

Lemma coordinates_sound v S s d f q : world v S s d 0 ->
  reads S (of_element S (coordinates S)) f q -> eval v q = value (env s d 0) f.
Proof. intros W. now apply (element_sound v S s d 0 _ d f q W (coordinates_of v S s d 0 W)). Qed.

Lemma element_world C P s d : in_elements C P -> element C s d ->
  exists v S o, world v S s d 0 /\ eval v o = offset_of C s d /\ P S o.
Proof.
  intros [I | A] E; [now apply no_element in E |].
  destruct (A d (ex_intro _ s E)) as (gs & S & o & R & G & RO & Q).
  destruct (run_sound gs S R s d 0) as [v W].
  - apply Forall_forall. intros g I. destruct (G g I) as [B | (k & n & K & [-> | ->])].
    + now apply E.
    + now apply E.
    + reflexivity.
  - exists v, S, o. split; [exact W | split; [| exact Q]].
    apply (element_sound v S s d 0 (coordinates S)); trivial. now apply (coordinates_of v S s d 0).
Qed.

Lemma sizes_world C P s : of_sizes_alone C P -> sizes_hold C s ->
  exists v S, world v S s none 0 /\ P S.
Proof.
  intros (gs & S & R & G & Q) E. destruct (run_sound gs S R s none 0) as [v W].
  - apply Forall_forall. intros g I. now apply E, G.
  - now exists v, S.
Qed.

Lemma total_sound v S s d p ns q : world v S s d p -> reads_total S ns q -> eval v q = total s ns.
Proof.
  intros W R. induction R as [| n ns q x N R IH]; [apply eval_number |].
  rewrite eval_times, IH. cbn. f_equal. eapply sized_sound; eauto.
Qed.

Lemma place_sound v S s d p ns ds e o x y : world v S s d p ->
  (forall k q, ds k = Some q -> eval v q = e k) -> reads_place S ns ds o x y ->
  eval v y = fold_left (fun x k => x * sized s (listed ns k) + e k) o (eval v x).
Proof.
  intros W D R. induction R as [| k o x q c y N K R IH]; [reflexivity |].
  rewrite IH. cbn. f_equal. rewrite eval_plus, eval_times, (D k c K).
  now rewrite (sized_sound S v s d p (listed ns k) q).
Qed.

Theorem apart_rule : forall C, apart_shown C -> apart C.
Proof.
  intros C A s d E. destruct (element_world C _ s d A E) as (v & S & o & W & O & L & Q).
  split; [exact L |]. intros k f F. destruct (Q k f F) as (q & x & R & X & Z).
  rewrite <- O, <- (at_slot_sound v S s d 0 f o q W R).
  destruct W as (W & M & N). rewrite (same_sound S v q x M Z). apply (N _ _ X).
Qed.

Theorem bounded_rule : forall C n, bounded_shown C n -> bounded_by C n.
Proof.
  intros C n B s d E. destruct (element_world C _ s d B E) as (v & S & o & W & O & q & R & L).
  rewrite <- O, <- (sized_sound S v s d 0 n q W R). apply (lies_below_sound S); apply W || trivial.
Qed.

Theorem limited_rule : forall C, limited_shown C -> limited C.
Proof.
  intros C B s d E f n I. destruct (element_world C _ s d B E) as (v & S & o & W & O & Q).
  destruct (Q f n I) as (p & q & RP & RQ & Z).
  rewrite <- O, <- (at_slot_sound v S s d 0 f o p W RP), <- (sized_sound S v s d 0 n q W RQ).
  apply (shown_sound S v) in Z; try apply W. rewrite !eval_minus, eval_number in Z. lia.
Qed.

Theorem equal_rule : forall C, equal_shown C -> equal_to_others C.
Proof.
  intros C B s d E f I. destruct (element_world C _ s d B E) as (v & S & o & W & O & Q).
  destruct (Q f I) as (q & R & Z).
  rewrite <- O, <- (coordinates_sound v S s d f q W R). apply (same_sound S); trivial. apply W.
Qed.

Theorem moved_rule : forall C, moved_shown C -> moved C.
Proof.
  intros C B s d E f I. destruct (element_world C _ s d B E) as (v & S & o & W & O & Q).
  destruct (Q f I) as (p & q & RP & RQ & Z).
  rewrite <- O, <- (coordinates_sound v S s d f p W RP),
      <- (at_slot_sound v S s d 0 _ p q W RQ).
  apply (same_sound S); trivial. apply W.
Qed.

Theorem padded_rule : forall C, padded_shown C -> padded C.
Proof.
  intros C B s E. destruct (sizes_world C _ s B E) as (v & S & W & x & y & z & X & Y & Z & Q).
  rewrite <- (sized_sound S v s none 0 _ x W X), <- (sized_sound S v s none 0 _ y W Y).
  rewrite <- (total_sound v S s none 0 _ z W Z), <- eval_minus. apply (same_sound S); trivial.
  apply W.
Qed.

Theorem ends_rule : forall C, ends_shown C -> ends_inside C.
Proof.
  intros C B s E. destruct (sizes_world C _ s B E) as (v & S & W & x & y & X & Y & Q).
  rewrite <- (sized_sound S v s none 0 _ x W X), <- (sized_sound S v s none 0 _ y W Y).
  apply (shown_sound S v) in Q; try apply W. rewrite eval_minus in Q. lia.
Qed.

Lemma nth_of_three {A B D} (xs : list A) (ys : list B) (zs : list D) k y :
  length xs = length ys -> length zs = length xs -> nth_error ys k = Some y ->
  exists x z, nth_error xs k = Some x /\ nth_error zs k = Some z.
Proof.
  intros L M Y. assert (K : (k < length ys)%nat) by (apply nth_error_Some; now rewrite Y).
  destruct (nth_error xs k) as [x |] eqn:X; [| apply nth_error_None in X; lia].
  destruct (nth_error zs k) as [z |] eqn:Z; [| apply nth_error_None in Z; lia].
  now exists x, z.
Qed.

Lemma nth_of_back {A B} (xs : list A) (zs : list B) k z :
  length zs = length xs -> nth_error zs k = Some z -> exists x, nth_error xs k = Some x.
Proof.
  intros M Z. assert (K : (k < length zs)%nat) by (apply nth_error_Some; now rewrite Z).
  destruct (nth_error xs k) as [x |] eqn:X; [now exists x | apply nth_error_None in X; lia].
Qed.

Theorem full_rule : forall C, full_shown C -> full C.
Proof.
  intros C [[I B] | [L A]] s t E T LI d.
  - destruct (sizes_world C _ s B E) as (v & S & W & q & RQ & Z).
    rewrite <- (sized_sound S v s none 0 _ q W RQ), (Z v), eval_number in T; [lia | apply W].
  - destruct (A t (ex_intro _ s (conj E T))) as (gs & S & p & o & back & R & G & P & LB & Q & RO & Z).
    destruct (run_sound gs S R s none t) as [v W].
    { apply Forall_forall. intros g I. destruct (G g I) as [H | [-> | [-> | (f & n & F & ->)]]].
      - now apply E.
      - exact T.
      - reflexivity.
      - now apply LI. }
    assert (PT : eval v p = t) by apply (proj2 (proj2 W) Slot p P).
    assert (D : forall k q, nth_error back k = Some q -> eval v q = d k).
    { intros k q K. destruct (nth_of_back (inverse C) back k q LB K) as [f F].
      destruct (nth_of_back (shape C) (inverse C) k f L F) as [n N].
      destruct (Q k f n q F N K) as [RQ _]. rewrite (at_slot_sound v S s none t f p q W RQ), PT.
      unfold d, listed. now rewrite (nth_error_nth _ _ _ F). }
    split; [split; [exact E |] |].
    + intros k n N. destruct (nth_of_three (inverse C) (shape C) back k n L LB N)
        as (f & q & F & K).
      destruct (Q k f n q F N K) as (RQ & m & RM & B). rewrite <- (D k q K).
      rewrite <- (sized_sound S v s none t n m W RM).
      apply (lies_below_sound S); apply W || trivial.
    + transitivity (eval v o).
      * symmetry. now apply (element_sound v S s none t (nth_error back)).
      * rewrite <- PT. apply (same_sound S); trivial. apply W.
Qed.

Theorem viewed_rule : forall C, viewed_shown C -> viewed C.
Proof.
  intros C [T B]. split.
  - intros s E. destruct (sizes_world C _ s T E) as (v & S & W & x & y & X & Y & Q).
    rewrite <- (total_sound v S s none 0 _ x W X), <- (total_sound v S s none 0 _ y W Y).
    apply (same_sound S); trivial. apply W.
  - intros s d E e.
    destruct (element_world C _ s d B E)
      as (v & S & o & W & O & es & x & y & O1 & O2 & LE & LV & Q & X & Y & Z & F).
    assert (D : forall k q, nth_error es k = Some q -> eval v q = e k).
    { intros k q K. destruct (nth_of_back (view C) es k q LE K) as [f V].
      destruct (nth_of_back (other_shape C) (view C) k f LV V) as [n N].
      destruct (Q k f n q V N K) as [RQ _]. rewrite (coordinates_sound v S s d f q W RQ).
      unfold e, listed. now rewrite (nth_error_nth _ _ _ V). }
    split; [exact O1 | split; [exact O2 | split; [| split]]].
    + intros k n N. destruct (nth_of_three (view C) (other_shape C) es k n LV LE N)
        as (f & q & V & K).
      destruct (Q k f n q V N K) as (RQ & m & RM & L). rewrite <- (D k q K).
      rewrite <- (sized_sound S v s d 0 n m W RM). apply (lies_below_sound S); apply W || trivial.
    + unfold place. replace 0 with (eval v (number 0)) by apply eval_number.
      rewrite <- (place_sound v S s d 0 _ _ e _ _ x W D X).
      rewrite <- (place_sound v S s d 0 _ (coordinates S) d _ _ y W) by
        (trivial || now apply (coordinates_of v S s d 0)).
      apply (same_sound S); trivial. apply W.
    + intros f I. destruct (F f I) as (q & R & H). rewrite <- O.
      rewrite <- (same_sound S v q o) by (trivial || apply W).
      symmetry. now apply (element_sound v S s d 0 (nth_error es)).
Qed.

Inductive claim :=
  Injective | Surjective | Bijective | Padded | Equivalent | Verified | Bitcast | Relayout.

Definition states c C :=
  match c with
  | Injective => apart C
  | Surjective => bounded_by C (end_ C) /\ full C
  | Bijective => apart C /\ bounded_by C (end_ C) /\ full C
  | Padded => apart C /\ bounded_by C (end_ C) /\ padded C
  | Equivalent => equal_to_others C
  | Verified => apart C /\ bounded_by C (end_ C) /\ ends_inside C /\ limited C /\ full C /\
      equal_to_others C
  | Bitcast => viewed C
  | Relayout => moved C
  end.

Definition accepted c C :=
  match c with
  | Injective => apart_shown C
  | Surjective => bounded_shown C (end_ C) /\ full_shown C
  | Bijective => apart_shown C /\ bounded_shown C (end_ C) /\ full_shown C
  | Padded => apart_shown C /\ bounded_shown C (end_ C) /\ padded_shown C
  | Equivalent => equal_shown C
  | Verified => apart_shown C /\ bounded_shown C (end_ C) /\ ends_shown C /\ limited_shown C /\
      full_shown C /\ equal_shown C
  | Bitcast => viewed_shown C
  | Relayout => moved_shown C
  end.

Theorem accepted_claims_hold : forall c C, accepted c C -> states c C.
Proof.
  intros [] C; cbn; intuition auto using apart_rule, bounded_rule, limited_rule, equal_rule,
    moved_rule, padded_rule, ends_rule, full_rule, viewed_rule.
Qed.

(* An example: the array [N], in which element d0 has the offset d0. *)

Definition row := {|
  size_names := [{| step := 1; least := 1; most := None |}];
  shape := [Name (Size 0)]; offset := Name (Coordinate 0); inverse := [Name Slot];
  size := Name (Size 0); end_ := Name (Size 0); padding := Number 0;
  others := []; limits := []; source := Number 0;
  view := []; other_shape := []; order := []; other_order := [] |}.

Lemma row_is_accepted : accepted Injective row.
Proof.
  right. intros d _. eexists. eexists. exists (atom 1). split.
  - eapply (run_below _ _ (Coordinate 0) (Name (Size 0)) (scale 1 (atom 0))).
    + apply (run_size _ _ 0 1 1 None run_start); lia.
    + now apply reads_name.
    + eapply rule_4_low; [reflexivity |]. apply (rule_1 _ _ _ (atom 0)).
      * intros v _. rewrite eval_put, eval_minus, eval_scale, !eval_atom, at_that_atom.
        rewrite eval_plus, !eval_number, eval_atom. cbn [low]. change (- (- (1) / 1)) with 1. ring.
      * intros c m [[= <- <-] | []]. lia.
    + apply within_scale, within_atom. cbn. lia.
  - split; [| split; [now apply reads_name |]].
    + intros g [<- | [<- | []]]; [right | left].
      * exists 0%nat, (Name (Size 0)). split; [reflexivity | now left].
      * now exists 0%nat, {| step := 1; least := 1; most := None |}.
    + split; [reflexivity |]. intros [| [|]] f [= <-]. exists (atom 1), (atom 1).
      split; [now apply reads_name | split; [reflexivity |]].
      exists (number 0). split; [| now intros v _]. apply way_equal.
      intros v _. rewrite eval_minus, eval_number. ring.
Qed.
